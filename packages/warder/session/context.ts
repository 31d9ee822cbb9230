import { readFileSync } from 'node:fs'
import { type KmsClient, kmsClient } from '@warder/client'
import { StartupError } from '@warder/foundation/errors'
import type { Terminal } from '../cli/command.ts'
import type { ValuesOf } from '../cli/options.ts'
import { clientOf, type HttpsClient } from '../client/index.ts'
import { findPlaces, type Places, readPlaceOptions } from '../kms/places.ts'
import { serviceId } from '../login/kept-login.ts'
import { type FoundLogin, findLogin } from '../login/login-store.ts'
import type { sessionOptions } from './options.ts'

/** Context of `login`, `logout` and `whoami`. */
export interface SessionContext {
  readonly places: Places
  readonly terminal: Terminal
  /** The authentication service, where it is known. */
  readonly auth: HttpsClient | undefined
  /** The login that is kept for these places. */
  found(): FoundLogin | undefined
  /** The key management service, with a token. The caller closes it. */
  kmsWith(token: string): KmsClient
  /** Prints lines for people, or with `--json` one document for programs. */
  show(document: unknown, lines: readonly string[]): void
}

/** @throws UsageError, StartupError when it is not known where the services are */
export async function withServices<R>(
  values: ValuesOf<typeof sessionOptions>,
  terminal: Terminal,
  act: (context: SessionContext) => Promise<R>,
): Promise<R> {
  const places = findPlaces(readPlaceOptions(values, terminal.env))
  const auth = places.auth === undefined ? undefined : clientOf(places.auth)
  try {
    return await act({
      places,
      terminal,
      auth,
      found: () => findLogin(places.home, idsOf(places), terminal.env),
      kmsWith: (token) => kmsWith(places, token),
      show(document, lines) {
        if (values.json) terminal.out(JSON.stringify(document, undefined, 2))
        else for (const line of lines) terminal.out(line)
      },
    })
  } finally {
    auth?.close()
  }
}

/** The places as a kept login is bound to them. */
export function idsOf({ auth, kms }: Places) {
  return { auth: auth === undefined ? undefined : serviceId(auth), kms: serviceId(kms) }
}

function kmsWith({ kms: { url, caFile, serverName } }: Places, token: string): KmsClient {
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8')
  const credentials = token.startsWith('wt.') ? { secretToken: token } : { bearer: token }
  try {
    return kmsClient({ url, ca, serverName, credentials })
  } catch (error) {
    if (error instanceof TypeError) throw new StartupError(error.message, { cause: error })
    throw error
  }
}
