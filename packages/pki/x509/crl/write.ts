import { contextTag, der, derHeader, derInteger, derNumber, derSequence, derTag } from '../../asn1/der.ts'
import { derTime } from '../../asn1/time.ts'
import { pkiError } from '../../error.ts'
import {
  authorityKeyIdentifier,
  computeKeyIdentifier,
  type Extension,
  encodeExtension,
  extensionIdentifiers,
} from '../extensions.ts'
import type { Issuer } from '../issue.ts'
import { writeSigned } from '../signed.ts'
import { selectSigner } from '../signing.ts'
import { type CrlEntry, type EncodedEntries, encodeEntries } from './entries.ts'
import { type CrlScope, issuingDistributionPoint } from './scope.ts'

export interface NewCrl {
  /** Higher than that of every earlier CRL (RFC 5280 §5.2.3), below 2^159. */
  readonly number: bigint
  /** Unix milliseconds; whole seconds are kept. */
  readonly thisUpdate: number
  readonly nextUpdate: number
  /** Revoked certificates of the issuer, each serial once. A stream, or the result of `encodeEntries`. */
  readonly entries: Iterable<CrlEntry> | EncodedEntries
  /** Set when the CRL does not cover all certificates of its issuer, or has a fixed URL. */
  readonly scope?: CrlScope
  /** Number of the base CRL, for a delta CRL (RFC 5280 §5.2.4). */
  readonly baseNumber?: bigint
}

/**
 * Signs a CRL of version 2 (RFC 5280 §5). Memory holds at most three copies of the list: its chunks, the signed part
 * and the result.
 * @returns DER
 * @throws PkiError `invalid_value`, `cannot_sign`
 */
export async function issueCrl(wanted: NewCrl, issuer: Issuer): Promise<Buffer> {
  if (!(wanted.nextUpdate >= wanted.thisUpdate))
    throw pkiError('invalid_value', 'nextUpdate of a CRL must be after thisUpdate.')
  const signer = selectSigner(issuer)
  const extensions = crlExtensions(wanted, issuer)
  const { entries } = wanted
  const { chunks } = 'chunks' in entries ? entries : encodeEntries(entries, wanted.baseNumber !== undefined)
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
  const data = derSequence(
    derNumber(1),
    signer.algorithm,
    issuer.name,
    derTime(wanted.thisUpdate),
    derTime(wanted.nextUpdate),
    // RFC 5280 §5.1.2.6: no list at all when nothing is revoked.
    ...(length === 0 ? [] : [derHeader(derTag.sequence, length), ...chunks]),
    der(contextTag(0), derSequence(...extensions.map(encodeExtension))),
  )
  return writeSigned(data, signer)
}

function crlExtensions({ number, scope, baseNumber }: NewCrl, issuer: Issuer): readonly Extension[] {
  const extensions: Extension[] = [
    authorityKeyIdentifier(issuer.keyIdentifier ?? computeKeyIdentifier(issuer.spki)),
    { identifier: extensionIdentifiers.crlNumber, critical: false, value: crlNumber(number) },
  ]
  if (scope !== undefined) extensions.push(issuingDistributionPoint(scope))
  if (baseNumber === undefined) return extensions
  if (baseNumber >= number)
    throw pkiError('invalid_value', 'The number of a delta CRL must be higher than that of its base.')
  const value = crlNumber(baseNumber)
  return [...extensions, { identifier: extensionIdentifiers.deltaCrlIndicator, critical: true, value }]
}

function crlNumber(number: bigint): Buffer {
  // RFC 5280 §5.2.3: at most 20 bytes, and it is not negative.
  if (number < 0n || number >= 1n << 159n)
    throw pkiError('invalid_value', 'The number of a CRL must have at most 20 bytes.')
  const hex = number.toString(16)
  return derInteger(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'))
}
