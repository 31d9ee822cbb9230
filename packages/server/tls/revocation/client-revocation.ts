import type { X509Certificate } from 'node:crypto'
import type { Clock } from '@warder/base'
import { readCertificate } from '@warder/pki'
import {
  digestAuthority,
  digestCertificate,
  hasDigest,
  type RevokedCertificates,
} from './revoked-certificates.ts'

/** A certificate of a client, or one that its client sent above it. */
interface PresentedCertificate {
  readonly digest: bigint
  readonly issuer: string
}

/** The certificates of one connection, read off once. */
export type PresentedChain = readonly PresentedCertificate[]

/** Certificates that a client may send. */
const maxChainLength = 8

/** Whether client certificates are revoked, in one worker. */
export interface ClientRevocation {
  /** @returns why the client is refused now, for the log; undefined = it is not */
  problem(chain: PresentedChain): string | undefined
  set(next: RevokedCertificates | undefined): void
}

/**
 * The certificate and what the client sent above it. A resumed session has the first alone: its others were judged by
 * the same CRLs, because a session does not resume under other ones.
 * @param certificate as the socket gives it, whose chain has verified
 */
export function listPresentedChain(certificate: X509Certificate): PresentedChain {
  const chain: PresentedCertificate[] = []
  for (
    let next: X509Certificate | undefined = certificate;
    next !== undefined && chain.length < maxChainLength;
    next = next.issuerCertificate
  ) {
    const { issuer, subject, serialNumber } = readCertificate(next.raw)
    // A trust anchor is not checked against its own CRL: the settings name it.
    if (chain.length > 0 && Buffer.compare(issuer, subject) === 0) break
    chain.push({ digest: digestCertificate(issuer, serialNumber), issuer: digestAuthority(issuer) })
  }
  return chain
}

export function createClientRevocation(
  clock: Clock,
  first: RevokedCertificates | undefined,
): ClientRevocation {
  let digests: BigUint64Array<ArrayBufferLike> = new BigUint64Array(0)
  let until: ReadonlyMap<string, number> = new Map()
  let strict = false
  const set = (next: RevokedCertificates | undefined): void => {
    digests = new BigUint64Array(next?.revoked ?? new ArrayBuffer(0))
    until = new Map(next?.authorities.map((authority) => [authority.name, authority.until]))
    strict = next?.strict ?? false
  }
  set(first)
  return {
    set,
    problem(chain) {
      if (chain.some(({ digest }) => hasDigest(digests, digest))) return 'the client certificate was revoked'
      if (!strict) return undefined
      const now = clock.now()
      return chain.some(({ issuer }) => (until.get(issuer) ?? 0) < now)
        ? 'no CRL in force covers the client certificate'
        : undefined
    },
  }
}
