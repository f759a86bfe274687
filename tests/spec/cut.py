#!/usr/bin/env python3
"""Cuts the published forge descriptions down to what tidegate uses.

    tests/spec/cut.py <folder>

The folder holds the whole descriptions: `github.requests.json.gz` (a request index made from @octokit/openapi),
`github-webhooks.openapi.json.gz` (@octokit/openapi-webhooks), `github-webhook-examples.json.gz`
(@octokit/webhooks-examples), `github-app-events.json` and `github-app-manifest.schema.json`.
"""

import gzip
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent

# What we ask of GitHub, and what else the sandbox answers.
OPERATIONS = [
    "apps/create-installation-access-token",
    "apps/delete-installation",
    "apps/get-authenticated",
    "apps/get-installation",
    "apps/get-repo-installation",
    "apps/get-webhook-config-for-app",
    "apps/list-installations",
    "apps/suspend-installation",
    "apps/unsuspend-installation",
    "issues/create-comment",
    "issues/delete-comment",
    "issues/get-comment",
    "issues/list-comments",
    "issues/list-comments-for-repo",
    "issues/update-comment",
    "pulls/create",
    "pulls/create-review",
    "pulls/dismiss-review",
    "pulls/get",
    "pulls/list",
    "pulls/list-reviews",
    "pulls/merge",
    "pulls/update",
    "reactions/create-for-issue-comment",
    "reactions/list-for-issue-comment",
    "repos/create-commit-status",
    "repos/create-webhook",
    "repos/get",
    "repos/get-branch",
    "repos/get-collaborator-permission-level",
    "repos/get-combined-status-for-ref",
    "repos/get-commit",
    "repos/list-commit-statuses-for-ref",
    "repos/list-pull-requests-associated-with-commit",
    "repos/list-webhooks",
    "users/get-authenticated",
    "users/get-by-username",
]

# The deliveries we act on, and those the sandbox sends beside them.
WEBHOOKS = [
    "installation-created",
    "installation-deleted",
    "installation-new-permissions-accepted",
    "installation-suspend",
    "installation-unsuspend",
    "installation-repositories-added",
    "installation-repositories-removed",
    "issue-comment-created",
    "issue-comment-deleted",
    "issue-comment-edited",
    "ping",
    "pull-request-closed",
    "pull-request-converted-to-draft",
    "pull-request-edited",
    "pull-request-opened",
    "pull-request-ready-for-review",
    "pull-request-reopened",
    "pull-request-review-dismissed",
    "pull-request-review-edited",
    "pull-request-review-submitted",
    "pull-request-synchronize",
    "push",
]

# What the app's manifest may ask for.
APP_EVENTS = ["issue_comment", "pull_request", "pull_request_review", "push"]

# What a schema says to people only.
PROSE = {"description", "summary", "title", "example", "examples", "externalDocs"}


def read(folder, name):
    path = folder / name
    opened = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        return json.load(file)


def write(name, value):
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    (HERE / name).write_bytes(gzip.compress(text.encode(), mtime=0))


def references(value):
    """Every `$ref` below a value."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        value = value.values()
    elif not isinstance(value, list):
        return
    for part in value:
        yield from references(part)


def closure(value, schemas, prefix):
    """The named schemas a value needs, and those that they need."""
    found, waiting = {}, list(references(value))
    while waiting:
        name = waiting.pop().removeprefix(prefix)
        if name not in found:
            found[name] = schemas[name]
            waiting.extend(references(schemas[name]))
    return found


def schema_only(value, names_are_fields=False):
    """A schema without prose; its references point into `$defs`."""
    if isinstance(value, list):
        return [schema_only(part) for part in value]
    if isinstance(value, str):
        return value.replace("#/components/schemas/", "#/$defs/")
    if not isinstance(value, dict):
        return value
    return {
        key: schema_only(part, key in ("properties", "$defs") and not names_are_fields)
        for key, part in value.items()
        if names_are_fields or (key not in PROSE and not key.startswith("x-"))
    }


def requests(folder):
    whole = read(folder, "github.requests.json.gz")
    by_id = {row["id"]: row for row in whole["operations"]}
    rows = [by_id[name] for name in OPERATIONS]
    return {
        "source": f"npm @octokit/openapi {whole['version']}, generated/api.github.com.json, cut",
        "licence": "MIT, GitHub and the Octokit contributors",
        "operations": rows,
        "$defs": closure(rows, whole["$defs"], "#/$defs/"),
    }


def webhooks(folder):
    whole = read(folder, "github-webhooks.openapi.json.gz")
    schemas = {}
    for name in WEBHOOKS:
        content = whole["webhooks"][name]["post"]["requestBody"]["content"]
        schemas[name] = content["application/json"]["schema"]
    defs = closure(schemas, whole["components"]["schemas"], "#/components/schemas/")
    return {
        "source": f"npm @octokit/openapi-webhooks {whole['info']['version']}, cut, without prose",
        "licence": "MIT, GitHub and the Octokit contributors",
        "webhooks": {name: schema_only(schema) for name, schema in schemas.items()},
        "$defs": {name: schema_only(schema) for name, schema in defs.items()},
    }


def without_links(value):
    """A payload without the addresses of further API calls, which are most of its bytes."""
    if isinstance(value, list):
        return [without_links(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_links(part)
        for key, part in value.items()
        if key == "html_url" or not (key == "url" or key.endswith("_url"))
    }


def examples(folder):
    rows = read(folder, "github-webhook-examples.json.gz")
    return {
        "source": "npm @octokit/webhooks-examples 7.6.1, api.github.com/index.json, without API links;"
        " those marked inferred were derived from others",
        "licence": "MIT, the Octokit contributors",
        "examples": [
            {
                "event": row["event"],
                "action": row["action"],
                "inferred": row["inferred"],
                "payload": without_links(row["payload"]),
            }
            for row in rows
        ],
    }


def app(folder):
    events = read(folder, "github-app-events.json")["events"]
    manifest = read(folder, "github-app-manifest.schema.json")
    return {
        "source": "events: npm @octokit/openapi-webhooks 12.1.0, the summaries; manifest: by hand from"
        " docs.github.com, Registering a GitHub App from a manifest",
        "licence": "facts; MIT, GitHub and the Octokit contributors",
        "events": {name: events[name] for name in APP_EVENTS},
        "manifest": schema_only(manifest),
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    write("github.requests.json.gz", requests(folder))
    write("github-webhooks.schema.json.gz", webhooks(folder))
    write("github-webhook-examples.json.gz", examples(folder))
    write("github-app.json.gz", app(folder))


if __name__ == "__main__":
    main()
