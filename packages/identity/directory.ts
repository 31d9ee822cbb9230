import { failure, type Secret } from '@warder/base'
import type { Outbound } from '@warder/outbound'
import { peerSecretHeader } from '@warder/server'
import { parseTypedUser } from './user-name.ts'

/** User registered under a name at the authentication service; undefined: that cannot be known for such a name. */
export interface Registered {
  /** A user, as names are written here: `alice`, `eng/alice`. */
  readonly user: boolean
  /** A machine with this entity: `ci` of `app:ci`. */
  readonly machine: boolean | undefined
}

/** Looks up users and machines at the authentication service. */
export interface Directory {
  /** @throws failure('overloaded') when it does not answer */
  find(name: string): Promise<Registered>
}

/** @param only the one realm that is accepted; undefined = every realm */
export function directoryAt(
  url: string,
  only: string | undefined,
  outbound: Outbound,
  peerSecret: Secret,
): Directory {
  const base = url.replace(/\/+$/, '')
  return {
    async find(name) {
      const { realm, username } = parseTypedUser(name, only)
      const query = new URLSearchParams({ realm, username, entity: name })
      const headers = peerSecret.use((bytes) => ({ [peerSecretHeader]: Buffer.from(bytes).toString('utf8') }))
      const answer = await outbound.get(`${base}/known?${query}`, { headers }).catch((cause: unknown) => {
        throw noAnswer('the authentication service does not respond', cause)
      })
      if (answer.status !== 200) throw noAnswer(`/known responded with status ${answer.status}`)
      return readRegistered(answer.body)
    },
  }
}

function noAnswer(detail: string, cause?: unknown): Error {
  return failure('overloaded', detail, { retryAfterSeconds: 1, ...(cause !== undefined && { cause }) })
}

function readRegistered(body: Uint8Array): Registered {
  let answer: unknown
  try {
    answer = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (cause) {
    throw noAnswer('the response of /known is not JSON', cause)
  }
  const { user, machine } = (typeof answer === 'object' ? (answer ?? {}) : {}) as Record<string, unknown>
  if (typeof user !== 'boolean') throw noAnswer('the response of /known lacks the required members')
  return { user, machine: typeof machine === 'boolean' ? machine : undefined }
}
