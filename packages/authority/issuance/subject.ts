import type { AlgorithmPolicy } from '@warder/crypto'
import {
  findLinkTarget,
  findPrivateKeyId,
  type LastUses,
  type ManagedObject,
  type Requester,
  refusal,
  stateAt,
} from '@warder/keys'
import {
  type Extension,
  extensionIdentifiers,
  readCertificate,
  readCertificateExtensions,
  readCertificationRequest,
} from '@warder/pki'
import { findIssuedCertificate } from '../register/register-store.ts'
import type { RevocationConfig } from '../register/settings.ts'

/** A request for a certificate, by a user with the rights on the keys that it names. */
export interface CertificateRequester extends Requester {
  readonly services: Requester['services'] & {
    readonly policy: AlgorithmPolicy
    readonly revocation: RevocationConfig
    readonly uses: LastUses
  }
  /** Unix milliseconds. */
  readonly now: number
}

/** The key to certify, and its holder. */
export interface CertificateSubject {
  /** DER of the name; undefined when only the attributes can give one. */
  readonly name: Uint8Array | undefined
  readonly spki: Uint8Array
  /** As requested, or copied from the renewed certificate. */
  readonly extensions: readonly Extension[]
  readonly publicKey: string | undefined
  readonly privateKey: string | undefined
  /** true: possession of the private key was proved by a signed request, or the service created that key. */
  readonly isPossessionShown: boolean
}

/** Reads a PKCS#10 request, DER. @throws PkiError */
export function readSubject(request: Uint8Array): CertificateSubject {
  const { subject, spki, extensions } = readCertificationRequest(request)
  return {
    name: subject,
    spki,
    extensions: extensions.flatMap(grant),
    publicKey: undefined,
    privateKey: undefined,
    isPossessionShown: true,
  }
}

/**
 * Extensions that a certificate request can set by itself: names and purposes. Basic constraints are ignored: only the
 * caller of Certify can request an authority.
 */
function grant(extension: Extension): readonly Extension[] {
  const { subjectAltName, createExtendedKeyUsage: extendedKeyUsage } = extensionIdentifiers
  return extension.identifier === subjectAltName || extension.identifier === extendedKeyUsage
    ? [extension]
    : []
}

/** Reads the subject from an object: a public key, a private key, a request, or a certificate to renew. */
export async function findSubject(
  requester: CertificateRequester,
  object: ManagedObject,
): Promise<CertificateSubject> {
  const state = stateAt(object, requester.now)
  if (state === 'Destroyed' || state === 'Destroyed_Compromised') throw refusal('ObjectDestroyed', 'DENIED')
  if (object.type === 'PublicKey' && state !== 'Active' && state !== 'PreActive')
    throw refusal('WrongKeyLifecycleState', 'DENIED')
  const material = await requester.objects.material(object)
  if (material === undefined)
    throw refusal('KeyValueNotPresent', 'The service does not have the value of the object.')
  switch (object.type) {
    case 'PublicKey':
      if (object.form.format !== undefined)
        throw refusal('InvalidObjectType', 'The public key cannot be read.')
      return {
        name: undefined,
        spki: material,
        extensions: [],
        publicKey: object.id,
        privateKey: findPrivateKeyId(object),
        isPossessionShown: await hasPrivateHalf(requester, object, material),
      }
    case 'CertificateRequest':
      return readSubject(material)
    case 'Certificate': {
      const { subject, spki } = readCertificate(material)
      return {
        name: subject,
        spki,
        extensions: readCertificateExtensions(material),
        publicKey: findLinkTarget(object, 'PublicKeyLink'),
        privateKey: findLinkTarget(object, 'PrivateKeyLink'),
        isPossessionShown:
          (await findIssuedCertificate(requester.services.db, object.id))?.keyId !== undefined,
      }
    }
    default:
      throw refusal('InvalidObjectType', `An object of type ${object.type} cannot be certified.`)
  }
}

/** A link is no proof: the private half is here only if its public key is this one. */
async function hasPrivateHalf(
  { objects }: CertificateRequester,
  object: ManagedObject,
  spki: Uint8Array,
): Promise<boolean> {
  const id = findPrivateKeyId(object)
  const half = id === undefined ? undefined : await objects.read(id)
  if (half?.type !== 'PrivateKey' || half.owner !== object.owner || half.form.wrapped === true) return false
  const own = (await objects.key(half.id))?.held.publicKey?.export({ format: 'der', type: 'spki' })
  return own !== undefined && Buffer.compare(own, spki) === 0
}
