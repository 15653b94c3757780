#!/usr/bin/env python3
"""record.py URL FILE... asks a kube-apiserver the requests of files anew, and writes down its answers.

The server is empty but for what it makes itself, runs with --authorization-mode RBAC and without a controller
manager, and knows the tokens admin-token (user admin, group system:masters) and bob-token (user bob, group devs).
"""
import json
import ssl
import sys
import time
import urllib.error
import urllib.request


def ask(url, step):
    headers = {"Authorization": f"Bearer {step['who']}-token", "Accept": step.get("accept", "application/json")}
    body = None
    if "body" in step:
        body = json.dumps(step["body"]).encode()
        headers["Content-Type"] = step.get("type", "application/json")
    request = urllib.request.Request(url + step["path"], body, headers, method=step["method"])
    try:
        with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def without_managed_fields(value):
    if isinstance(value, dict):
        return {key: without_managed_fields(one) for key, one in value.items() if key != "managedFields"}
    if isinstance(value, list):
        return [without_managed_fields(one) for one in value]
    return value


for file in sys.argv[2:]:
    with open(file) as recorded:
        steps = json.load(recorded)
    for step in steps:
        step["status"], answer = ask(sys.argv[1], step)
        step["answer"] = without_managed_fields(answer)
        if step["method"] != "GET" and step["status"] < 300:
            time.sleep(0.3)  # its authorizer hears of a change a moment later
    with open(file, "w") as recorded:
        recorded.write("[\n" + ",\n".join(json.dumps(step, ensure_ascii=False) for step in steps) + "\n]\n")
