import { type Clock, type Logger, parseStrictObject } from '@warder/base'
import type { Outbound } from '@warder/outbound'

/** Value of `auth_verifier_issuer`: the issuers that the authentication service publishes. */
export const publishedIssuer = 'published'

/** Min interval of fetches: an unknown issuer occurs only in tokens that the authentication service's keys signed. */
const refreshMs = 5_000
const maxIssuers = 1000

interface Options {
  readonly url: string
  readonly outbound: Outbound
  readonly clock: Clock
  readonly log: Logger
}

/**
 * The issuers at a URL: fetched when first needed, and again for one that is not among them, so that an issuer that is
 * configured later, or a node that is added, is learned. A failure keeps the issuers there were; none are accepted
 * before the first answer.
 * @returns whether a token may have this `iss`
 */
export function publishedIssuers({
  url,
  outbound,
  clock,
  log,
}: Options): (issuer: unknown) => Promise<boolean> {
  let issuers: ReadonlySet<unknown> = new Set()
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  async function refresh(): Promise<void> {
    askedAt = clock.monotonic()
    try {
      const answer = await outbound.get(url)
      if (answer.status !== 200) throw new Error(`it responded with status ${answer.status}`)
      issuers = issuersIn(answer.body)
    } catch (error) {
      log.warn(
        { url, error },
        'the issuers of session tokens cannot be fetched; the previous ones stay in use',
      )
    }
  }

  return async (issuer) => {
    if (issuers.has(issuer)) return true
    if (asking === undefined) {
      if (clock.monotonic() - askedAt < refreshMs) return false
      asking = refresh().finally(() => {
        asking = undefined
      })
    }
    await asking
    return issuers.has(issuer)
  }
}

function issuersIn(body: Uint8Array): ReadonlySet<unknown> {
  const list = parseStrictObject(body)?.issuers
  if (!Array.isArray(list) || list.length > maxIssuers || !list.every((one) => typeof one === 'string'))
    throw new TypeError('its response is not a list of issuers')
  return new Set(list)
}
