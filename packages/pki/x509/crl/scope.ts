import { contextTag, der, derElements, derFlag, derMembers, derSequence } from '../../asn1/der.ts'
import { pkiError } from '../../error.ts'
import { type Extension, extensionIdentifiers } from '../extensions.ts'

/** The certificates that a CRL covers: the extension IssuingDistributionPoint (RFC 5280 §5.2.5). */
export interface CrlScope {
  /** URLs of this CRL; certificates name one of them. */
  readonly urls: readonly string[]
  readonly only?: 'users' | 'authorities'
}

/** Contents of the scope extension of a CRL. */
export interface ReadCrlScope {
  /** DER of each GeneralName; undefined: the CRL covers certificates of any distribution point. */
  readonly names: readonly Uint8Array[] | undefined
  readonly onlyUsers: boolean
  readonly onlyAuthorities: boolean
  readonly onlyAttributes: boolean
  /** The CRL covers only some reasons: a certificate that is not listed may be revoked for another one. */
  readonly someReasons: boolean
  /** The CRL may contain entries of other issuers. */
  readonly indirect: boolean
}

const yes = Uint8Array.of(0xff)

/** RFC 5280 §5.2.5: critical. @throws PkiError when it would be empty */
export function issuingDistributionPoint({ urls, only }: CrlScope): Extension {
  if (urls.length === 0 && only === undefined)
    throw pkiError('invalid_value', 'The scope of a CRL must be a URL or a kind of certificates.')
  const names = urls.map((url) => der(contextTag(6, false), Buffer.from(url, 'latin1')))
  const point = names.length === 0 ? [] : [der(contextTag(0), der(contextTag(0), ...names))]
  const kind = only === undefined ? [] : [der(contextTag(only === 'users' ? 1 : 2, false), yes)]
  return {
    identifier: extensionIdentifiers.issuingDistributionPoint,
    critical: true,
    value: derSequence(...point, ...kind),
  }
}

/** @throws PkiError */
export function readIssuingDistributionPoint(extensions: readonly Extension[]): ReadCrlScope | undefined {
  const found = extensions.find(
    ({ identifier }) => identifier === extensionIdentifiers.issuingDistributionPoint,
  )
  if (found === undefined) return undefined
  const what = 'issuingDistributionPoint'
  const members = derMembers(found.value, what)
  const flag = (number: number) => {
    const member = members.find(({ tag }) => tag === contextTag(number, false))
    return member !== undefined && derFlag({ ...member, tag: 0x01 }, what)
  }
  const point = members.find(({ tag }) => tag === contextTag(0))
  return {
    names: point === undefined ? undefined : readNames(point.content, what),
    onlyUsers: flag(1),
    onlyAuthorities: flag(2),
    someReasons: members.some(({ tag }) => tag === contextTag(3, false)),
    indirect: flag(4),
    onlyAttributes: flag(5),
  }
}

/**
 * Reads a DistributionPointName: full names, or a name relative to the issuer, which is not used in practice and
 * matches no name.
 */
function readNames(content: Uint8Array, what: string): readonly Uint8Array[] {
  const [name, another] = derElements(content, what)
  if (name === undefined || another !== undefined)
    throw pkiError('malformed', `${what} has no distribution point name.`)
  return name.tag === contextTag(0) ? derElements(name.content, what).map(({ whole }) => whole) : []
}
