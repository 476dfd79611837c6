# The tool as a container: `docker run IMAGE compare …`, and the image of the GitHub Action.
# No USER: the runner's files belong to another user, and the jail drops its rights itself.
ARG BASE=python:3.13-slim

FROM ${BASE} AS install
WORKDIR /source
# Environments of their own: what the base image brings is neither replaced nor used.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/model-repo-drift
COPY requirements/build.txt requirements/run.txt requirements/
RUN /build/bin/pip install --no-cache-dir --require-hashes --requirement requirements/build.txt
RUN /build/bin/pip --python /opt/model-repo-drift install --no-cache-dir --require-hashes --requirement requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY bot bot
RUN /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheel . && \
    /build/bin/pip --python /opt/model-repo-drift install --no-cache-dir --no-deps --no-index /wheel/*.whl

FROM ${BASE}
LABEL org.opencontainers.image.title="Model Repo Drift" \
      org.opencontainers.image.description="Compare two revisions of a model repository and say what newly goes wrong, per inference engine." \
      org.opencontainers.image.licenses="Apache-2.0"
RUN command -v git || { apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/*; }
COPY --from=install /opt/model-repo-drift /opt/model-repo-drift
# Safe path: the folder it runs in belongs to a stranger, nothing is imported from there.
ENV PATH=/opt/model-repo-drift/bin:$PATH PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE=1

# Smoke test: half an end-of-sequence fix has to be found by the installed command, from a folder that holds none of our code.
RUN set -eu; cd "$(mktemp -d)"; mkdir base head; \
    for side in base head; do \
      printf '{"eos_token": "[EOS]", "added_tokens_decoder": {"5": {"content": "[EOS]", "special": true}, "6": {"content": "<|im_end|>", "special": true}}}' \
        > $side/tokenizer_config.json; \
    done; \
    printf '{"eos_token_id": 5}' > base/generation_config.json; \
    printf '{"eos_token_id": 6}' > head/generation_config.json; \
    model-repo-drift --version; \
    status=0; model-repo-drift compare base head --format json --output report.json || status=$?; \
    cat report.json; test "$status" -eq 1; grep --quiet eos-split-brain report.json; \
    rm -r "$PWD"

ENTRYPOINT ["/opt/model-repo-drift/bin/model-repo-drift"]
