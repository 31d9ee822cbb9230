import { StartupError } from '@warder/base'
import { ClientError } from '@warder/client'
import type { Answer, Ask, HttpsClient } from '../https-client.ts'

/** Sends one request. @throws StartupError when the service cannot be reached */
export async function send(client: HttpsClient, path: string, ask: Ask): Promise<Answer> {
  try {
    return await client.ask(path, ask)
  } catch (error) {
    throw new StartupError(`the authentication service: ${formatReason(error)}${getConnectionHint(error)}`, {
      cause: error,
    })
  }
}

/** Formats an error of the client, without the advice of Node for programmers. */
export function formatReason(error: unknown): string {
  const why = error instanceof Error ? error.message || error.name : String(error)
  return why.replace(/; if the root CA is installed locally, try running Node\.js with \S+$/, '')
}

/** Returns advice about a failed connection, to append to the message of the system. */
export function getConnectionHint(error: unknown): string {
  const { code } = ((error instanceof ClientError ? error.cause : error) ?? {}) as { code?: unknown }
  if (code === 'ECONNREFUSED') return '; check that it is running (warder start)'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return '; check the name in --url'
  const untrusted =
    typeof code === 'string' && /UNABLE_TO|SELF_SIGNED|CERT_UNTRUSTED|CERT_SIGNATURE/.test(code)
  if (untrusted) return '; its certificate authority is not trusted: give it with --ca-file FILE'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return '; its certificate is for another name: use that name in --url'
  return code === 'CERT_HAS_EXPIRED'
    ? '; its certificate has expired, or the clock of this machine is wrong'
    : ''
}

/** The service refused; the message is that of the service. */
export class Refused extends StartupError {
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** Converts an error response to one line. */
export function createRefused(answer: Answer): Refused {
  const { description } = (answer.json ?? {}) as { description?: unknown }
  const sentence = typeof description === 'string' ? description : 'no reason was given'
  const retry = answer.headers['retry-after']
  const later = typeof retry === 'string' ? ` (try again in ${retry} seconds)` : ''
  return new Refused(`the service answered ${answer.status}: ${sentence}${later}`, answer.status)
}

/** Reads the session token that a response stores as a cookie; undefined when there is none. */
export function readSessionToken({ headers }: Answer): string | undefined {
  return /^_ea_=([^;]+)/.exec([headers['set-cookie']].flat()[0] ?? '')?.[1]
}

/** Requires the authentication service, by its address or a client. @throws StartupError when it is not known */
export function requireAuthService<Service>(service: Service | undefined): Service {
  if (service !== undefined) return service
  throw new StartupError('the authentication service is not known: give its address with --auth-url')
}

/** @throws StartupError unless the status is 2xx */
export function requireSuccess(answer: Answer): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer
  throw createRefused(answer)
}
