import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'
import { createRequire } from 'node:module'
import { deflateRawSync } from 'node:zlib'
import { issueCertificate } from '@warder/server'
import { escapeXml, namespaces, writeTime } from '../xml.ts'

/** The used part of xml-crypto for signing. */
interface Signer {
  SignatureAlgorithms: Record<string, unknown>
  HashAlgorithms: Record<string, unknown>
  addReference(reference: object): void
  computeSignature(xml: string, options: object): void
  getSignedXml(): string
}
const { SignedXml } = createRequire(import.meta.url)('xml-crypto') as {
  SignedXml: new (options: object) => Signer
}

const more = 'http://www.w3.org/2001/04/xmldsig-more#'
export const rsaSha256 = `${more}rsa-sha256`
const sha256 = 'http://www.w3.org/2001/04/xmlenc#sha256'
const c14n = namespaces.exclusiveC14n

export interface KeyPair {
  /** PEM. */
  readonly certificate: string
  readonly privateKey: KeyObject
}

/** A new key and a certificate of its own. */
export async function keyPair(keyType: 'rsa' | 'ec' = 'rsa', rsaBits = 2048): Promise<KeyPair> {
  const now = Date.now()
  const [notBefore, notAfter] = [new Date(now - 86_400_000), new Date(now + 86_400_000)]
  const plan = {
    commonName: 'Test IdP',
    purpose: 'client',
    hostnames: [],
    addresses: [],
    notBefore,
    notAfter,
  } as const
  const issued = await issueCertificate({ ...plan, keyType, rsaBits }, undefined)
  return { certificate: issued.certificatePem, privateKey: issued.privateKey }
}

/** Keys cost time, and no test minds which they are. */
const made = new Map<string, Promise<KeyPair>>()
export function sharedKey(name: string, keyType: 'rsa' | 'ec' = 'rsa'): Promise<KeyPair> {
  const known = made.get(name) ?? keyPair(keyType)
  made.set(name, known)
  return known
}

export interface SignOptions {
  readonly key: KeyPair
  readonly signatureAlgorithm?: string
  readonly digestAlgorithm?: string
  readonly transforms?: readonly string[]
  readonly canonicalization?: string
  readonly inclusivePrefixes?: readonly string[]
  /** Another element that a second Reference is of. */
  readonly alsoSign?: string
  /** Base64, instead of a signature by the key. */
  readonly signatureOf?: (data: string) => string
}

/** Signs the first element of this local name, by its ID, enveloped after its Issuer. */
export function signElement(xml: string, name: 'Response' | 'Assertion', options: SignOptions): string {
  const { key, signatureAlgorithm = rsaSha256, digestAlgorithm = sha256 } = options
  const element = `//*[local-name(.)='${name}']`
  const signer = new SignedXml({
    privateKey: key.privateKey.export({ format: 'pem', type: 'pkcs8' }),
    publicCert: key.certificate,
    signatureAlgorithm,
    canonicalizationAlgorithm: options.canonicalization ?? c14n,
  })
  const hash = `sha${/sha(\d+)/.exec(signatureAlgorithm)?.[1]}`
  const byKey = (data: string) =>
    sign(hash, Buffer.from(withoutStray(data)), { key: key.privateKey, dsaEncoding: 'ieee-p1363' }).toString(
      'base64',
    )
  signer.SignatureAlgorithms[signatureAlgorithm] = class {
    getAlgorithmName = () => signatureAlgorithm
    getSignature = options.signatureOf ?? byKey
  }
  signer.HashAlgorithms[`${more}sha384`] = class {
    getAlgorithmName = () => `${more}sha384`
    getHash = (data: string) => createHash('sha384').update(data).digest('base64')
  }
  for (const xpath of [element, ...(options.alsoSign === undefined ? [] : [options.alsoSign])])
    signer.addReference({
      xpath,
      transforms: options.transforms ?? [`${namespaces.signature}enveloped-signature`, c14n],
      digestAlgorithm,
      ...(options.inclusivePrefixes && { inclusiveNamespacesPrefixList: options.inclusivePrefixes }),
    })
  const location = { reference: `${element}/*[local-name(.)='Issuer']`, action: 'after' }
  signer.computeSignature(xml, { prefix: 'ds', location })
  return withoutStray(signer.getSignedXml())
}

/** The list of prefixes, which belongs to the canonicalization alone, is written into every transform. */
function withoutStray(xml: string): string {
  return xml.replace(
    /(enveloped-signature">)<InclusiveNamespaces [^>]*(?:\/>|><\/InclusiveNamespaces>)/,
    '$1',
  )
}

/** Contents of a response; a test may replace every member. Times are Unix seconds. */
export interface ResponseWishes {
  readonly requestId: string
  readonly now: number
  readonly issuer?: string
  readonly responseIssuer?: string
  readonly acsUrl?: string
  readonly destination?: string | null
  readonly recipient?: string
  readonly audiences?: readonly (readonly string[])[]
  readonly inResponseTo?: string | null
  /** The end of the Method of the SubjectConfirmation; default: bearer. */
  readonly confirmation?: string
  readonly confirmationInResponseTo?: string
  readonly status?: string
  readonly assertionId?: string
  readonly responseId?: string
  readonly nameId?: string | null
  readonly nameIdFormat?: string
  readonly issuedAt?: number
  readonly notBefore?: number
  readonly notOnOrAfter?: number
  readonly confirmationNotOnOrAfter?: number | null
  readonly authnStatement?: boolean
  readonly sessionNotOnOrAfter?: number
  readonly sessionIndex?: string
  readonly attributes?: Readonly<Record<string, readonly string[]>>
  readonly extraConditions?: string
  /** Default: the assertion. */
  readonly sign?: readonly ('Response' | 'Assertion')[]
  readonly signing?: Partial<SignOptions>
}

export const randomId = (): string => `_${randomBytes(16).toString('hex')}`

/** An identity provider of the tests. */
export class TestIdp {
  readonly entityId: string
  readonly key: KeyPair
  readonly spEntityId: string
  readonly acsUrl: string

  constructor(parts: { entityId?: string; key: KeyPair; spEntityId: string; acsUrl: string }) {
    this.entityId = parts.entityId ?? 'https://idp.example/metadata'
    this.key = parts.key
    this.spEntityId = parts.spEntityId
    this.acsUrl = parts.acsUrl
  }

  metadata(
    more: {
      readonly certificates?: readonly string[]
      readonly inside?: string
      readonly before?: string
      readonly attributes?: string
    } = {},
  ): string {
    const certificates = (more.certificates ?? [this.key.certificate]).map((pem) => {
      const der = new X509Certificate(pem).raw.toString('base64')
      return `<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`
    })
    return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="${namespaces.metadata}" xmlns:ds="${namespaces.signature}" entityID="${escapeXml(this.entityId)}"${more.attributes ?? ''}>
  <md:IDPSSODescriptor protocolSupportEnumeration="${namespaces.protocol}">
    ${certificates.join('')}${more.before ?? ''}
    ${more.inside ?? '<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example/sso"/>'}
  </md:IDPSSODescriptor>
</md:EntityDescriptor>`
  }

  /** A response in XML, not signed. */
  unsigned(wishes: ResponseWishes): string {
    const { now, requestId } = wishes
    const instant = writeTime(wishes.issuedAt ?? now)
    const acsUrl = wishes.acsUrl ?? this.acsUrl
    const destination = wishes.destination === undefined ? acsUrl : wishes.destination
    const inResponseTo = wishes.inResponseTo === undefined ? requestId : wishes.inResponseTo
    const optional = (name: string, value: string | null): string =>
      value === null ? '' : ` ${name}="${escapeXml(value)}"`
    const status = wishes.status ?? 'urn:oasis:names:tc:SAML:2.0:status:Success'
    return `<samlp:Response xmlns:samlp="${namespaces.protocol}" xmlns:saml="${namespaces.assertion}" ID="${wishes.responseId ?? randomId()}" Version="2.0" IssueInstant="${instant}"${optional('Destination', destination)}${optional('InResponseTo', inResponseTo)}>
  <saml:Issuer>${escapeXml(wishes.responseIssuer ?? wishes.issuer ?? this.entityId)}</saml:Issuer>
  <samlp:Status><samlp:StatusCode Value="${status}"/></samlp:Status>
  ${this.assertion(wishes)}
</samlp:Response>`
  }

  /** The assertion alone. */
  assertion(wishes: ResponseWishes): string {
    const { now, requestId } = wishes
    const acsUrl = wishes.acsUrl ?? this.acsUrl
    const nameId = wishes.nameId === undefined ? 'ann' : wishes.nameId
    const format = wishes.nameIdFormat ?? 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified'
    const end = wishes.confirmationNotOnOrAfter === undefined ? now + 300 : wishes.confirmationNotOnOrAfter
    const restrictions = (wishes.audiences ?? [[this.spEntityId]]).map(
      (list) =>
        `<saml:AudienceRestriction>${list.map((one) => `<saml:Audience>${escapeXml(one)}</saml:Audience>`).join('')}</saml:AudienceRestriction>`,
    )
    const sessionEnd =
      wishes.sessionNotOnOrAfter === undefined
        ? ''
        : ` SessionNotOnOrAfter="${writeTime(wishes.sessionNotOnOrAfter)}"`
    const statement = `<saml:AuthnStatement AuthnInstant="${writeTime(now)}" SessionIndex="${wishes.sessionIndex ?? 'session-1'}"${sessionEnd}><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`
    const attributes = Object.entries(wishes.attributes ?? {}).map(
      ([name, values]) =>
        `<saml:Attribute Name="${escapeXml(name)}">${values.map((value) => `<saml:AttributeValue>${escapeXml(value)}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
    )
    return `<saml:Assertion xmlns:saml="${namespaces.assertion}" ID="${wishes.assertionId ?? randomId()}" Version="2.0" IssueInstant="${writeTime(wishes.issuedAt ?? now)}"><saml:Issuer>${escapeXml(wishes.issuer ?? this.entityId)}</saml:Issuer><saml:Subject>${nameId === null ? '' : `<saml:NameID Format="${format}">${escapeXml(nameId)}</saml:NameID>`}<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:${wishes.confirmation ?? 'bearer'}"><saml:SubjectConfirmationData${end === null ? '' : ` NotOnOrAfter="${writeTime(end)}"`} Recipient="${escapeXml(wishes.recipient ?? acsUrl)}" InResponseTo="${wishes.confirmationInResponseTo ?? requestId}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${writeTime(wishes.notBefore ?? now - 5)}" NotOnOrAfter="${writeTime(wishes.notOnOrAfter ?? now + 300)}">${restrictions.join('')}${wishes.extraConditions ?? ''}</saml:Conditions>${wishes.authnStatement === false ? '' : statement}${attributes.length === 0 ? '' : `<saml:AttributeStatement>${attributes.join('')}</saml:AttributeStatement>`}</saml:Assertion>`
  }

  /** A response in XML, signed as the wishes say. */
  response(wishes: ResponseWishes): string {
    const parts = wishes.sign ?? ['Assertion']
    const order = (['Assertion', 'Response'] as const).filter((part) => parts.includes(part))
    return order.reduce(
      (xml, part) => signElement(xml, part, { key: this.key, ...wishes.signing }),
      this.unsigned(wishes),
    )
  }
}

/** The public key of a certificate, as PEM. */
export function publicPem(certificate: string): string {
  return createPublicKey(certificate).export({ format: 'pem', type: 'spki' }).toString()
}

/** The query of a message of the identity provider by HTTP-Redirect. @param message XML, or bytes that are sent as they are */
export function signQuery(
  idp: TestIdp,
  field: 'SAMLRequest' | 'SAMLResponse',
  message: string | Buffer,
  key = idp.key,
): string {
  const data = Buffer.isBuffer(message) ? message : deflateRawSync(Buffer.from(message))
  const algorithm = encodeURIComponent(rsaSha256)
  const parts = `${field}=${encodeURIComponent(data.toString('base64'))}&RelayState=state&SigAlg=${algorithm}`
  const signature = sign('sha256', Buffer.from(parts), key.privateKey).toString('base64')
  return `${parts}&Signature=${encodeURIComponent(signature)}`
}

/** Signs metadata whose root has an ID, as the first child of the root (SAML 2.0 metadata §3). */
export function signMetadata(xml: string, key: KeyPair): string {
  const signer = new SignedXml({
    privateKey: key.privateKey.export({ format: 'pem', type: 'pkcs8' }),
    signatureAlgorithm: rsaSha256,
    canonicalizationAlgorithm: c14n,
  })
  signer.addReference({
    xpath: '/*',
    transforms: [`${namespaces.signature}enveloped-signature`, c14n],
    digestAlgorithm: sha256,
  })
  signer.computeSignature(xml, { prefix: 'ds', location: { reference: '/*', action: 'prepend' } })
  return signer.getSignedXml()
}
