import {
  contextTag,
  type DerElement,
  der,
  derElements,
  derIdentifier,
  derMembers,
  derNull,
  derObjectIdentifier,
  derSequence,
} from '../der.ts'
import { pkiError } from '../error.ts'
import { type Extension, extensionIdentifiers, extensionValue } from './extensions.ts'

const uri = contextTag(6, false)
const maxUrlLength = 2048

/** Encodes the GeneralName of a URL. @throws PkiError */
function urlName(url: string): Buffer {
  if (url.length > maxUrlLength || !/^https?:\/\/[\u0021-\u007e]+$/.test(url))
    throw pkiError(
      'invalid_value',
      'The address of a CRL, a responder or an issuer must be a URL with http or https.',
    )
  return der(uri, Buffer.from(url, 'latin1'))
}

/**
 * Creates the extension with the URLs of revocation lists, one distribution point each (RFC 5280 §4.2.1.13). @throws
 * PkiError
 */
export function crlDistributionPoints(urls: readonly string[]): Extension {
  const points = urls.map((url) => derSequence(der(contextTag(0), der(contextTag(0), urlName(url)))))
  return {
    identifier: extensionIdentifiers.crlDistributionPoints,
    critical: false,
    value: derSequence(...points),
  }
}

/** Reads the full names (DER) of all distribution points (RFC 5280 §4.2.1.13). @throws PkiError */
export function readCrlDistributionPoints(extensions: readonly Extension[]): readonly Uint8Array[] {
  const what = 'crlDistributionPoints'
  const value = extensionValue(extensions, extensionIdentifiers.crlDistributionPoints)
  if (value === undefined) return []
  return derMembers(value, what).flatMap((point) => {
    const named = derMembers(point.whole, what).find(({ tag }) => tag === contextTag(0))
    const full = named === undefined ? undefined : derElements(named.content, what)[0]
    if (full?.tag !== contextTag(0)) return []
    return derElements(full.content, what).map(({ whole }) => whole)
  })
}

const accessMethods = { ocsp: '1.3.6.1.5.5.7.48.1', caIssuers: '1.3.6.1.5.5.7.48.2' } as const

/** URLs of responders, and of certificates of the issuer (RFC 5280 §4.2.2.1). */
interface AuthorityAccess {
  readonly ocsp: readonly string[]
  readonly caIssuers: readonly string[]
}

/** @throws PkiError */
export function authorityInformationAccess({ ocsp, caIssuers }: AuthorityAccess): Extension {
  const describeAccess = (method: string) => (url: string) =>
    derSequence(derObjectIdentifier(method), urlName(url))
  return {
    identifier: extensionIdentifiers.authorityInformationAccess,
    critical: false,
    value: derSequence(
      ...ocsp.map(describeAccess(accessMethods.ocsp)),
      ...caIssuers.map(describeAccess(accessMethods.caIssuers)),
    ),
  }
}

/** @throws PkiError */
export function readAuthorityInformationAccess(extensions: readonly Extension[]): AuthorityAccess {
  const what = 'authorityInfoAccess'
  const value = extensionValue(extensions, extensionIdentifiers.authorityInformationAccess)
  const describeAccess =
    value === undefined ? [] : derMembers(value, what).map(({ whole }) => derMembers(whole, what))
  const of = (wanted: string) =>
    describeAccess
      .filter(([method, location]) => derIdentifier(method, what) === wanted && location?.tag === uri)
      .map(([, location]) => readText(location))
  return { ocsp: of(accessMethods.ocsp), caIssuers: of(accessMethods.caIssuers) }
}

function readText(element: DerElement | undefined): string {
  return Buffer.from(element?.content ?? []).toString('latin1')
}

/** URLs among GeneralNames. @throws PkiError */
export function urlsIn(names: readonly Uint8Array[]): readonly string[] {
  return names
    .map((name) => derElements(name, 'A name')[0])
    .filter((element) => element?.tag === uri)
    .map(readText)
}

/** RFC 9608 §3: not for authorities, and not together with revocation addresses. */
export const noRevAvail: Extension = {
  identifier: extensionIdentifiers.noRevAvail,
  critical: false,
  value: derNull,
}

/** RFC 6960 §4.2.2.2.1, for responder certificates, which are short-lived instead. */
export const ocspNoCheck: Extension = {
  identifier: extensionIdentifiers.ocspNoCheck,
  critical: false,
  value: derNull,
}
