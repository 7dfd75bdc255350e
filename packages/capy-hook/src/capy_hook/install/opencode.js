// capy-hook for OpenCode. Written by `capy-hook install`, removed by `capy-hook uninstall`: changes are lost.
import { spawn } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const PROGRAMS = ["capy-hook", FALLBACK]
const TIMEOUT_MS = 10_000
const TOOLS = /^(bash|read|grep|webfetch|task)$|(^|_)capy_/

// What capy-hook answers to an event, or null: no such program, no answer, no JSON. Never throws.
const ask = async (event, payload) => {
  for (const program of PROGRAMS) {
    const output = await run(program, event, JSON.stringify(payload))
    if (output === undefined) continue
    try {
      return JSON.parse(output)
    } catch {
      return null
    }
  }
  return null
}

// The program's output; undefined when it could not be started, "" when it took too long.
const run = (program, event, input) =>
  new Promise((resolve) => {
    let child
    try {
      child = spawn(program, [event, "--platform", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
    } catch {
      return resolve(undefined)
    }
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      resolve("")
    }, TIMEOUT_MS)
    const finish = (output) => {
      clearTimeout(timer)
      resolve(output)
    }
    const chunks = []
    child.on("error", () => finish(undefined))
    child.on("close", () => finish(Buffer.concat(chunks).toString("utf8")))
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stdin.on("error", () => {})
    child.stdin.end(input)
  })

export const CapyHook = async ({ directory }) => {
  const routing = new Map() // session -> what its system prompt gets
  return {
    "tool.execute.before": async (input, output) => {
      if (!TOOLS.test(input.tool)) return
      const answer = await ask("pretooluse", {
        hook_event_name: "PreToolUse",
        session_id: input.sessionID,
        tool_use_id: input.callID,
        cwd: directory,
        tool_name: input.tool,
        tool_input: output.args,
      })
      if (typeof answer?.deny === "string") throw new Error(answer.deny)
      if (answer?.args) {
        // In place: a new object would not reach the tool
        for (const key of Object.keys(output.args)) if (!(key in answer.args)) delete output.args[key]
        Object.assign(output.args, answer.args)
      }
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input?.sessionID ?? ""
      if (!routing.has(session)) {
        const payload = { hook_event_name: "SessionStart", session_id: session, cwd: directory }
        routing.set(session, ask("sessionstart", payload))
      }
      const answer = await routing.get(session)
      if (typeof answer?.context === "string") output.system.push(answer.context)
    },
    event: async ({ event }) => {
      if (event?.type !== "session.deleted") return
      const session = event.properties?.info?.id ?? event.properties?.sessionID ?? ""
      routing.delete(session)
      await ask("sessionend", { hook_event_name: "SessionEnd", session_id: session, cwd: directory })
    },
  }
}
