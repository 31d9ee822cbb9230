import {
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'
import { promisify } from 'node:util'
import {
  generalName,
  issueCertificate as issueX509,
  nameFromParts,
  type ProfileName,
  profileExtensions,
  readCertificate,
  readCertificateExtensions,
  readKeyIdentifier,
} from '@warder/pki'

/** Contents of a certificate of the local authority. */
export interface CertificatePlan {
  readonly commonName: string
  readonly purpose: Extract<ProfileName, 'authority' | 'server' | 'client'>
  readonly hostnames: readonly string[]
  readonly addresses: readonly string[]
  readonly notBefore: Date
  readonly notAfter: Date
  /** Kind of the new key; default `ec`. */
  readonly keyType?: 'ec' | 'rsa'
  /** Of an RSA key; default 2048. */
  readonly rsaBits?: number
}

export interface IssuedCertificate {
  readonly certificatePem: string
  readonly keyPem: string
  readonly privateKey: KeyObject
}

export interface Issuer {
  readonly certificatePem: string
  readonly privateKey: KeyObject
}

const generateRsa = promisify(generateKeyPair)

/** SP 800-57 part 1 §5.6.3 permits 2048 bits until 2030; a certificate of the local authority lives 397 days. */
const rsaBits = 2048

/**
 * Issues an X.509 v3 certificate (RFC 5280) for a new P-256 or RSA key, signed with ECDSA and SHA-256; by itself when
 * there is no issuer.
 */
export async function issueCertificate(
  plan: CertificatePlan,
  issuer: Issuer | undefined,
): Promise<IssuedCertificate> {
  const { privateKey, publicKey } =
    plan.keyType === 'rsa'
      ? await generateRsa('rsa', { modulusLength: plan.rsaBits ?? rsaBits })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const subject = nameFromParts([['CN', plan.commonName]])
  const wanted = {
    subject,
    spki,
    notBefore: plan.notBefore.getTime(),
    notAfter: plan.notAfter.getTime(),
    extensions: profileExtensions(plan.purpose, {
      spki,
      names: encodeNames(plan),
      ...(plan.purpose === 'authority' && { pathLength: 0 }),
    }),
  }
  const signer =
    issuer === undefined
      ? { name: subject, key: privateKey, spki, keyIdentifier: undefined }
      : toSigner(issuer)
  const der = await issueX509(wanted, signer)
  return {
    certificatePem: new X509Certificate(der).toString(),
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    privateKey,
  }
}

function encodeNames({ hostnames, addresses }: CertificatePlan): readonly Uint8Array[] {
  return [
    ...hostnames.map((name) => generalName(`DNS:${name}`)),
    ...addresses.map((address) => generalName(`IP:${address}`)),
  ]
}

function toSigner({ certificatePem, privateKey }: Issuer) {
  const der = new X509Certificate(certificatePem).raw
  return {
    name: readCertificate(der).subject,
    key: privateKey,
    spki: createPublicKey(privateKey).export({ format: 'der', type: 'spki' }),
    keyIdentifier: readKeyIdentifier(readCertificateExtensions(der)),
  }
}
