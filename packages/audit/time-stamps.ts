import { createHash, randomBytes, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StartupError } from '@warder/base'
import type { PlainFetch } from '@warder/outbound'
import {
  pemText,
  type TimestampVerdict,
  timestampRequest,
  timestampVerdict,
  tokenInResponse,
} from '@warder/pki'
import { formatSegmentName, listSegments } from './segments.ts'

/** Certificates that are trusted to name time-stamping authorities, DER. */
export type TimestampAnchors = readonly Uint8Array[]

/** @param file PEM, one certificate or several @throws StartupError when there is none */
export function readTimestampAnchors(file: string): TimestampAnchors {
  try {
    const blocks = pemText(readFileSync(file), 'CERTIFICATE').match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    )
    if (blocks === null) throw new Error('it contains no certificate in PEM')
    return blocks.map((pem) => new X509Certificate(pem).raw)
  } catch (error) {
    throw new StartupError(`${file} cannot be used: ${error instanceof Error ? error.message : error}`)
  }
}

/**
 * Requests proof that a signature existed at this time (RFC 3161 over HTTP, §3.4). The token is verified before it is
 * stored: a wrong one would be noticed years later.
 * @param fetch http is enough: the token is signed, and the nonce proves that it is new
 * @returns requests a token, base64 of its DER; throws when the authority returns no valid one
 */
export function createTimestampAuthority(
  url: string,
  anchors: TimestampAnchors,
  fetch: PlainFetch,
): (signature: string) => Promise<string> {
  return async (signature) => {
    const digest = computeStampDigest(signature)
    const nonce = randomBytes(16)
    const { status, body } = await fetch.post(
      url,
      'application/timestamp-query',
      timestampRequest(digest, nonce),
    )
    if (status !== 200) throw new Error(`${url} answered ${status}`)
    const token = tokenInResponse(body)
    const verdict = timestampVerdict({ token, digest, nonce, anchors })
    if ('problem' in verdict) throw new Error(verdict.problem)
    return Buffer.from(token).toString('base64')
  }
}

/** Summary of the time stamps of a log. */
export interface TimestampReport {
  /** Closed files with valid time stamps. */
  readonly stamped: number
  /** Closed files without one. */
  readonly without: number
  /** Unix milliseconds and authority of the newest. */
  readonly newest: { readonly time: number; readonly authority: string } | undefined
  /** Files with invalid time stamps. */
  readonly wrong: readonly { readonly file: string; readonly problem: string }[]
}

/** Verifies the time stamps of all checkpoints in a folder. `verifyAudit` verifies the checkpoints themselves. */
export function verifyTimestamps(folder: string, anchors: TimestampAnchors): TimestampReport {
  const wrong: { file: string; problem: string }[] = []
  let [stamped, without] = [0, 0]
  let newest: TimestampReport['newest']
  for (const segment of listSegments(folder)) {
    const { signed } = segment
    if (signed === undefined) continue
    if (signed.timestamp === undefined) {
      without += 1
      continue
    }
    const verdict = verifyToken(signed.signature, signed.timestamp, anchors)
    if ('problem' in verdict) wrong.push({ file: formatSegmentName(segment), problem: verdict.problem })
    else {
      stamped += 1
      newest = verdict
    }
  }
  return { stamped, without, newest, wrong }
}

function verifyToken(signature: string, timestamp: string, anchors: TimestampAnchors): TimestampVerdict {
  return timestampVerdict({
    token: Buffer.from(timestamp, 'base64'),
    digest: computeStampDigest(signature),
    anchors,
  })
}

function computeStampDigest(signature: string): Buffer {
  return createHash('sha256').update(Buffer.from(signature, 'base64url')).digest()
}
