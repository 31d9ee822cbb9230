import { createHmac } from 'node:crypto'
import type { Clock, Logger, Secret } from '@warder/base'
import type { Outbound } from '@warder/outbound'

/** Tells a receiver of the operator's what becomes of requests for approval. */
export interface Notices {
  /** Queues the notice and returns at once; never throws. */
  tell(event: string, about: object): void
}

export interface NoticesOptions {
  /** https. */
  readonly url: string
  /** Secret with which the receiver verifies the signature. */
  readonly secret: Secret
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
  /** Milliseconds before the second and the third try. */
  readonly waits?: readonly number[]
}

/** Notices that wait at one time; more are dropped, with a line in the log. */
const maxWaiting = 1000
const defaultWaits = [1000, 10_000]

/**
 * The signature of a notice: `t=<Unix seconds>,v1=<HMAC-SHA256 of "t.body", in hex>`, in the header `Warder-Signature`.
 * A receiver compares it in constant time and refuses a `t` that is minutes old.
 */
function computeSignature(secret: Uint8Array, seconds: number, body: string): string {
  const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${mac}`
}

export function createNotices(options: NoticesOptions): Notices {
  const { url, secret, outbound, clock, log, waits = defaultWaits } = options
  let waiting = 0
  let last: Promise<void> = Promise.resolve()

  async function send(body: string): Promise<boolean> {
    const seconds = Math.floor(clock.now() / 1000)
    const signature = secret.use((bytes) => computeSignature(bytes, seconds, body))
    const headers = { 'content-type': 'application/json', 'warder-signature': signature }
    try {
      const { status } = await outbound.post(url, Buffer.from(body), { headers })
      if (status < 300) return true
      log.info({ status }, 'a notification was not accepted')
    } catch (error) {
      log.info({ detail: String(error) }, 'a notification could not be sent')
    }
    return false
  }

  async function deliver(body: string): Promise<void> {
    if (await send(body)) return
    for (const wait of waits) {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, wait).unref()
      })
      if (await send(body)) return
    }
    log.warn(
      { setting: 'approvals.webhook_url' },
      'a notification was abandoned; the audit log contains its content',
    )
  }

  return {
    tell(event, about) {
      if (waiting >= maxWaiting) {
        log.warn(
          { setting: 'approvals.webhook_url' },
          'a notification was dropped because too many are waiting',
        )
        return
      }
      waiting += 1
      const body = JSON.stringify({ event, at: new Date(clock.now()).toISOString(), ...about })
      last = last
        .then(() => deliver(body))
        .finally(() => {
          waiting -= 1
        })
    },
  }
}
