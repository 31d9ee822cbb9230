import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import { type KmsClient, kmsClient } from '@warder/client'
import { createShow, type Terminal, type ValuesOf } from '@warder/command-line'
import { type HttpsClient, openClient } from '@warder/command-line/https-client'
import {
  describeContext,
  endpointOptions,
  findServiceEndpoints,
  readEndpointOptions,
  type ServiceEndpoints,
} from '@warder/command-line/kms'
import { type FoundLogin, findLogin, toServiceId } from '@warder/command-line/login'

/** Options of `warder login`, `logout` and `whoami`: services and output. */
export const sessionOptions = {
  ...endpointOptions,
  json: { type: 'flag', help: 'prints one JSON document instead of text' },
} as const

/** Context of `login`, `logout` and `whoami`. */
export interface SessionContext {
  readonly endpoints: ServiceEndpoints
  readonly terminal: Terminal
  /** The authentication service, if it is known. */
  readonly auth: HttpsClient | undefined
  /** Finds the stored login for these services. */
  found(): FoundLogin | undefined
  /** Opens a client of the key management service with a token. The caller closes it. */
  openKms(token: string): KmsClient
  /** Prints lines of text, or with `--json` one document. */
  show(document: unknown, lines: readonly string[]): void
}

/** @throws UsageError, StartupError when the addresses of the services are not known */
export async function withServices<R>(
  values: ValuesOf<typeof sessionOptions>,
  terminal: Terminal,
  act: (context: SessionContext) => Promise<R>,
): Promise<R> {
  const endpoints = findServiceEndpoints(readEndpointOptions(values, terminal.env))
  const note = describeContext(endpoints)
  if (note !== undefined) terminal.err(note)
  const auth = endpoints.auth === undefined ? undefined : openClient(endpoints.auth)
  try {
    return await act({
      endpoints,
      terminal,
      auth,
      found: () => findLogin(endpoints.logins, toServiceIds(endpoints), terminal.env),
      openKms: (token) => openKms(endpoints, token),
      show: createShow(terminal, values.json),
    })
  } finally {
    auth?.close()
  }
}

/** Returns the identities of the services for a stored login. */
export function toServiceIds({ auth, kms }: ServiceEndpoints) {
  return { auth: auth === undefined ? undefined : toServiceId(auth), kms: toServiceId(kms) }
}

function openKms({ kms: { url, caFile, serverName } }: ServiceEndpoints, token: string): KmsClient {
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8')
  const credentials = token.startsWith('wt.') ? { secretToken: token } : { bearer: token }
  try {
    return kmsClient({ url, ca, serverName, credentials })
  } catch (error) {
    if (error instanceof TypeError) throw new StartupError(error.message, { cause: error })
    throw error
  }
}
