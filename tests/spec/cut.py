#!/usr/bin/env python3
"""Cuts the published forge descriptions down to what tidegate uses.

    tests/spec/cut.py <folder>

The folder holds the whole descriptions: `github.requests.json.gz` (a request index made from @octokit/openapi),
`github-webhooks.openapi.json.gz` (@octokit/openapi-webhooks), `github-webhook-examples.json.gz`
(@octokit/webhooks-examples), `github-app-events.json` and `github-app-manifest.schema.json`;
`forgejo-webhook-examples.json.gz` and the folder `gitea-captured` with a file of headers beside each body;
`forgejo-11.requests.json.gz` with its kin of 15 and 16 (request indexes made from the releases' own
`templates/swagger/v1_json.tmpl`), and `forgejo-webhooks.schema.json` (from Forgejo 15's `modules/structs/hook.go`).
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

# What we ask of Forgejo and Gitea, and what else the sandbox answers.
FORGEJO_OPERATIONS = [
    "getVersion",
    "issueCreateComment",
    "issueDeleteComment",
    "issueEditComment",
    "issueGetComment",
    "issueGetCommentReactions",
    "issueGetComments",
    "issueGetIssue",
    "issueGetRepoComments",
    "issueListIssues",
    "issuePostCommentReaction",
    "orgListTeamMember",
    "orgListTeamMembers",
    "repoCheckCollaborator",
    "repoCreateHook",
    "repoCreatePullRequest",
    "repoCreatePullReview",
    "repoCreateStatus",
    "repoDeleteHook",
    "repoDismissPullReview",
    "repoEditHook",
    "repoEditPullRequest",
    "repoGet",
    "repoGetAssignees",
    "repoGetBranch",
    "repoGetCombinedStatusByRef",
    "repoGetCommitPullRequest",
    "repoGetHook",
    "repoGetPullRequest",
    "repoGetPullReview",
    "repoGetRepoPermissions",
    "repoGetSingleCommit",
    "repoListCollaborators",
    "repoListHooks",
    "repoListPullRequests",
    "repoListPullReviews",
    "repoListStatuses",
    "repoListStatusesByRef",
    "repoListTeams",
    "repoMergePullRequest",
    "repoPullRequestIsMerged",
    "repoTestHook",
    "userCurrentListRepos",
    "userGet",
    "userGetCurrent",
]

# The oldest release we speak to, whose description is kept, and those that must take the same.
FORGEJO_RELEASES = ["forgejo-11", "forgejo-15", "forgejo-16"]

# The deliveries of Forgejo that we act on.
FORGEJO_WEBHOOKS = {
    "issue_comment": "IssueCommentPayload",
    "pull_request": "PullRequestPayload",
    "pull_request_approved": "PullRequestPayload",
    "pull_request_comment": "PullRequestPayload",
    "pull_request_rejected": "PullRequestPayload",
    "push": "PushPayload",
}

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


def parameters(row):
    """Everything that may be said in a call."""
    body = row.get("body") or {}
    return set(row.get("query") or {}) | set(body.get("known_properties") or [])


def forgejo_requests(folder):
    oldest, *newer = [read(folder, f"{name}.requests.json.gz") for name in FORGEJO_RELEASES]
    by_id = {row["id"]: row for row in oldest["operations"]}
    rows = [by_id[name] for name in FORGEJO_OPERATIONS]
    for release in newer:
        others = {row["id"]: row for row in release["operations"]}
        for row in rows:
            gone = parameters(row) - parameters(others[row["id"]])
            moved = (row["method"], row["path"]) != (others[row["id"]]["method"], others[row["id"]]["path"])
            if gone or moved:
                sys.exit(f"{release['forge']} does not take {row['id']} as {oldest['forge']} does: {gone or 'path'}")
    return {
        "source": f"templates/swagger/v1_json.tmpl of Forgejo {oldest['version']}, cut; the later releases"
        f" {' and '.join(FORGEJO_RELEASES[1:])} take all of it",
        "licence": "MIT (the description is distributed under it for interoperability), the Forgejo and Gitea authors",
        "operations": rows,
        "$defs": closure(rows, oldest["$defs"], "#/$defs/"),
    }


def forgejo_webhooks(folder):
    whole = read(folder, "forgejo-webhooks.schema.json")
    schemas = {event: whole["$defs"][name] for event, name in FORGEJO_WEBHOOKS.items()}
    defs = closure(schemas, whole["$defs"], "#/$defs/")
    return {
        "source": "inferred from modules/structs/hook.go of Forgejo v15.0 1fe8b37187 over the definitions of its"
        " templates/swagger/v1_json.tmpl, cut, without prose",
        "licence": "facts; the definitions MIT, the Forgejo and Gitea authors",
        "webhooks": {name: schema_only(schema) for name, schema in schemas.items()},
        "$defs": {name: schema_only(schema) for name, schema in defs.items()},
    }


def without_links(value, kept=("html_url",)):
    """A payload without the addresses of further API calls, which are most of its bytes."""
    if isinstance(value, list):
        return [without_links(part, kept) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_links(part, kept)
        for key, part in value.items()
        if key in kept or not (key == "url" or key.endswith("_url"))
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


def forgejo_examples(folder):
    kept = ("html_url", "issue_url", "pull_request_url")
    return {
        "source": "test data of woodpecker-ci/woodpecker, drone/go-scm and go-playground/webhooks, as each row says,"
        " without API links; those marked inferred were built from Forgejo 15's own structures",
        "licence": "as each row's source says: Apache-2.0, BSD-2-Clause-Patent, MIT",
        "examples": [
            {
                "event": row["x_forgejo_event"],
                "type": row["x_forgejo_event_type"],
                "action": row["action"],
                "inferred": row["inferred"],
                "source": row["source"],
                "payload": without_links(row["payload"], kept),
            }
            for row in read(folder, "forgejo-webhook-examples.json.gz")["examples"]
        ],
    }


def gitea_captured(folder):
    def captured(path):
        lines = path.with_suffix(".headers").read_text().splitlines()
        pairs = (line.split(": ", 1) for line in lines if ": " in line)
        headers = {name.lower(): value for name, value in pairs if name.startswith("X-") or name == "Content-Type"}
        return {"name": path.stem, "headers": headers, "body": path.read_text()}

    return {
        "source": "sent by a Gitea 1.26.0 of our own on 2026-11-30 to a hook with the secret s3cret; whole, since the"
        " signatures are of these bytes",
        "licence": "ours",
        "deliveries": [captured(path) for path in sorted((folder / "gitea-captured").glob("*.json"))],
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    write("github.requests.json.gz", requests(folder))
    write("github-webhooks.schema.json.gz", webhooks(folder))
    write("github-webhook-examples.json.gz", examples(folder))
    write("github-app.json.gz", app(folder))
    write("forgejo-webhook-examples.json.gz", forgejo_examples(folder))
    write("gitea-captured.json.gz", gitea_captured(folder))
    write("forgejo.requests.json.gz", forgejo_requests(folder))
    write("forgejo-webhooks.schema.json.gz", forgejo_webhooks(folder))


if __name__ == "__main__":
    main()
