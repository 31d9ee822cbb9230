import type { Clock } from '@warder/base'
import { OutboundError, type PlainFetch } from '@warder/outbound'
import { type Crl, PkiError, readCrl } from '@warder/pki'

/** CRLs of other authorities, from the distribution points of certificates. */
export interface FetchedCrls {
  /** undefined: it cannot be fetched now, or is not a CRL. The signature is not verified here. */
  crl(url: string): Promise<Crl | undefined>
}

const keptMs = 10 * 60_000
/** Interval after which a failed fetch is tried again. */
const keptFailureMs = 60_000
const maxKept = 64
const maxBytesKept = 32 * 1024 * 1024
/** Maximum number of concurrent requests. */
const maxAtOnce = 8

interface Kept {
  readonly crl: Crl | undefined
  readonly bytes: number
  readonly until: number
}

/**
 * Each URL is fetched by one request at a time, and again when its CRL expires, but after ten minutes at the latest.
 */
export function createFetchedCrls(fetch: PlainFetch, clock: Clock): FetchedCrls {
  const kept = new Map<string, Kept>()
  const running = new Map<string, Promise<Crl | undefined>>()
  let bytesKept = 0

  const drop = (url: string): void => {
    bytesKept -= kept.get(url)?.bytes ?? 0
    kept.delete(url)
  }
  const keep = (url: string, one: Kept): void => {
    drop(url)
    kept.set(url, one)
    bytesKept += one.bytes
    for (const oldest of kept.keys()) {
      if (kept.size <= maxKept && bytesKept <= maxBytesKept) break
      drop(oldest)
    }
  }
  const ask = async (url: string): Promise<Crl | undefined> => {
    const now = clock.now()
    try {
      const { status, body } = await fetch.get(url)
      if (status !== 200) throw new OutboundError('connection', `status ${status}`)
      const crl = readCrl(body)
      const until = Math.min(now + keptMs, Math.max(crl.nextUpdate ?? 0, now + keptFailureMs))
      keep(url, { crl, bytes: body.length, until })
      return crl
    } catch (error) {
      if (!(error instanceof OutboundError) && !(error instanceof PkiError)) throw error
      keep(url, { crl: undefined, bytes: 0, until: now + keptFailureMs })
      return undefined
    }
  }
  return {
    async crl(url) {
      const known = kept.get(url)
      if (known !== undefined && clock.now() < known.until) return known.crl
      const pending = running.get(url)
      if (pending !== undefined) return pending
      if (running.size >= maxAtOnce) return undefined
      const fresh = ask(url).finally(() => running.delete(url))
      running.set(url, fresh)
      return fresh
    },
  }
}
