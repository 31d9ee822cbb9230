import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import {
  type Command,
  homeOption,
  openUserTerminal,
  optionsHelp,
  optionsUsage,
  printable,
  readArguments,
  requireNoNames,
  selectHome,
  type Terminal,
  UsageError,
} from '@warder/command-line'
import { readEndpoints, requireAuthority, serviceNames, toServer } from '@warder/command-line/endpoints'
import { type Answer, type HttpsClient, openClient, type Server } from '@warder/command-line/https-client'
import { readShare } from './ask-shares.ts'

const options = {
  home: {
    ...homeOption,
    help: 'home of the node on this machine; the share is sent to both of its services',
  },
  url: {
    type: 'list',
    value: 'URL',
    help: 'address of a sealed service, once for each service of each node: https://node1.example:8443',
  },
  'ca-file': {
    type: 'text',
    value: 'FILE',
    help: "certificate authority to trust, with --url (default: the system's)",
  },
} as const

const maxTries = 5

/** `warder unseal`: a holder enters a share of the root key. */
export const unseal: Command = {
  name: 'unseal',
  summary: 'Enter your share of the root key at services that are sealed',
  options,
  help: `warder unseal ${optionsUsage(options)}

For services with root_key_source = "shares", which start sealed. Each holder runs the command on their own machine, and
enters one share at a prompt without echo, or on standard input. The command sends the share to each service in its
options that is sealed, and to no other. A service starts when it has received enough shares. Each service of each node
is unsealed separately, so name all of them. Exit code 1: a service does not respond, or refuses the share.

${optionsHelp(options)}

Example:
  age --decrypt --identity key.txt my-share.age | warder unseal --url https://kms.example:9998 --ca-file ca.crt`,
  async run(args, terminal) {
    const { values, names } = readArguments(args, options)
    requireNoNames(names)
    const servers = findServers(values, terminal)
    const clients = servers.map((server) => ({ url: server.url, client: openClient(server) }))
    try {
      const states = await Promise.all(clients.map((one) => readState(one)))
      for (const { line } of states) terminal.out(printable(line))
      const sealed = states.filter((state) => state.isSealed)
      const isReached = states.every(({ isReached }) => isReached)
      if (sealed.length === 0) return isReached ? 0 : 1
      const { prompter, input } = openUserTerminal()
      const share = await readShare(prompter, input)
      const results = await Promise.all(sealed.map((one) => enter(one, share)))
      for (const { line } of results) terminal.out(printable(line))
      return isReached && results.every(({ accepted }) => accepted) ? 0 : 1
    } finally {
      for (const { client } of clients) client.close()
    }
  },
}

function findServers(
  values: {
    readonly home: string | undefined
    readonly url: readonly string[]
    readonly 'ca-file': string | undefined
  },
  terminal: Terminal,
): readonly Server[] {
  const { url: urls, 'ca-file': caFile } = values
  if (urls.length === 0) {
    const home = resolve(selectHome(values.home, terminal.env))
    const endpoints = readEndpoints(home)
    return serviceNames.map((name) => toServer(home, endpoints[name], caFile))
  }
  if (values.home !== undefined) throw new UsageError('name either --home or --url')
  if (caFile !== undefined) requireAuthority(caFile)
  return [...new Set(urls.map(readUrl))].map((url) => ({ url, caFile }))
}

/** Never without TLS: a share is a secret. @throws UsageError */
function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'https:' || url.origin !== text.replace(/\/$/, ''))
    throw new UsageError(
      `--url must be an address like https://kms.example:9998, not ${JSON.stringify(text)}`,
    )
  return url.origin
}

interface Service {
  readonly url: string
  readonly client: HttpsClient
}

interface State extends Service {
  readonly isReached: boolean
  readonly isSealed: boolean
  readonly line: string
}

async function readState(service: Service): Promise<State> {
  const { url, client } = service
  try {
    const { status, json } = await client.ask('/health')
    const { sealed } = (json ?? {}) as { sealed?: { entered?: unknown; threshold?: unknown } }
    const isSealed = sealed !== undefined
    const line = isSealed
      ? `${url} is sealed: ${formatProgress(sealed)}`
      : `${url} is not sealed${status === 200 ? '' : ` (health: ${status})`}`
    return { ...service, isReached: true, isSealed, line }
  } catch (error) {
    const line = `${url} does not respond: ${error instanceof Error ? error.message : String(error)}`
    return { ...service, isReached: false, isSealed: false, line }
  }
}

function formatProgress({
  entered,
  threshold,
}: {
  readonly entered?: unknown
  readonly threshold?: unknown
}): string {
  return `${Number(entered)} of ${Number(threshold)} shares are entered`
}

async function enter(
  { url, client }: Service,
  share: string,
): Promise<{ readonly accepted: boolean; readonly line: string }> {
  try {
    const { status, json, text } = await postShare(client, share)
    const reply = (json ?? {}) as {
      sealed?: boolean
      entered?: number
      threshold?: number
      description?: string
    }
    if (status === 200 && reply.sealed === false)
      return { accepted: true, line: `${url} is unsealed, and starts` }
    if (status === 200) return { accepted: true, line: `${url} accepted the share: ${formatProgress(reply)}` }
    return { accepted: false, line: `${url} refused the share (${status}): ${reply.description ?? text}` }
  } catch (error) {
    return { accepted: false, line: `${url}: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** Waits and retries if the service limits requests. */
async function postShare(client: HttpsClient, share: string): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await client.ask('/unseal', { json: { share } })
    if (answer.status !== 429 || attempt === maxTries) return answer
    await setTimeout(Math.min(Number(answer.headers['retry-after'] ?? 1) || 1, 10) * 1000)
  }
}
