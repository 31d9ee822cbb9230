import { failure } from '@warder/foundation/errors'
import type { Outbound } from '@warder/foundation/outbound'
import { principalNamed, unauthorized } from './extractor.ts'

export interface PasswordLogin {
  readonly realm: string
  /**
   * Checks a password at the authentication service.
   * @returns what has to happen next there
   * @throws failure('unauthorized' | 'overloaded')
   */
  check(username: string, password: string, totpCode: string | undefined): Promise<string>
}

/** Logins that may wait for the authentication service at one time. */
const mostWaiting = 32

/** Logs in at the authentication service on behalf of somebody at the web page. Nothing of it is kept. */
export function passwordLogin(url: string, realm: string, outbound: Outbound): PasswordLogin {
  const address = `${url.replace(/\/+$/, '')}/login?realm=${encodeURIComponent(realm)}`
  let waiting = 0
  return {
    realm,
    async check(username, password, totpCode) {
      principalNamed(username, 'session')
      if (username.includes(':')) throw unauthorized('Basic credentials cannot carry this name')
      if (waiting >= mostWaiting)
        throw failure('overloaded', 'too many logins wait', { retryAfterSeconds: 1 })
      waiting++
      try {
        const credentials = Buffer.from(`${username}:${password}`, 'utf8').toString('base64')
        const body = Buffer.from(JSON.stringify(totpCode === undefined ? {} : { totp_code: totpCode }))
        const answer = await outbound.post(address, body, {
          headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
        })
        return nextStep(answer.status, answer.body)
      } catch (cause) {
        if (cause instanceof Error && cause.name === 'Failure') throw cause
        throw failure('overloaded', 'the authentication service does not answer', {
          cause,
          retryAfterSeconds: 1,
        })
      } finally {
        waiting--
      }
    },
  }
}

function nextStep(status: number, body: Uint8Array): string {
  if (status === 429) throw failure('rate_limited', undefined, { retryAfterSeconds: 1 })
  if (status >= 400 && status < 500) throw unauthorized(`login answered ${status}`)
  const answer: unknown = status === 200 ? JSON.parse(Buffer.from(body).toString('utf8')) : undefined
  const step =
    typeof answer === 'object' && answer !== null && 'next_step' in answer ? answer.next_step : undefined
  if (typeof step === 'string') return step
  throw failure('overloaded', `login answered ${status}`, { retryAfterSeconds: 1 })
}
