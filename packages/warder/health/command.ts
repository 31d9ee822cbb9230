import { resolve } from 'node:path'
import {
  type Command,
  findHome,
  homeOption,
  optionsHelp,
  optionsUsage,
  printable,
  readArguments,
  requireNoNames,
} from '@warder/command-line'
import { readEndpoints, serviceNames, toServer } from '@warder/command-line/endpoints'
import { openClient, type Server } from '@warder/command-line/https-client'

const options = { home: homeOption } as const

/** `warder health`, for supervisors, containers and probes. */
export const health: Command = {
  name: 'health',
  summary: 'Check whether both services of a home work',
  options,
  help: `warder health ${optionsUsage(options)}

Requests /health of both services of this home and prints a line for each. Exit code 1: a service does not respond, or
its database or audit log does not work.

${optionsHelp(options)}

Example:
  warder health --home /var/lib/warder`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    requireNoNames(names)
    const home = resolve(findHome(values.home, terminal.env).path)
    const endpoints = readEndpoints(home)
    const found = await Promise.all(
      serviceNames.map((name) => checkHealth(name, toServer(home, endpoints[name]))),
    )
    for (const { up, line } of found) (up ? terminal.out : terminal.err)(printable(line))
    return found.every(({ up }) => up) ? 0 : 1
  },
}

async function checkHealth(
  name: string,
  server: Server,
): Promise<{ readonly up: boolean; readonly line: string }> {
  const address = `${name} ${server.url}`
  const client = openClient(server)
  try {
    const { status, text } = await client.ask('/health')
    return status === 200
      ? { up: true, line: `${address} is up` }
      : { up: false, line: `${address} responds with ${status}: ${text}` }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { up: false, line: `${address} does not respond: ${why}` }
  } finally {
    client.close()
  }
}
