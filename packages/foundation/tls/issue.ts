import { createHash, generateKeyPairSync, type KeyObject, randomBytes, webcrypto } from 'node:crypto'

/** What to put into a certificate of the local authority. */
export interface CertificatePlan {
  readonly commonName: string
  readonly purpose: 'authority' | 'server' | 'client'
  readonly hostnames: readonly string[]
  readonly addresses: readonly string[]
  readonly notBefore: Date
  readonly notAfter: Date
}

export interface Issued {
  readonly certificatePem: string
  readonly keyPem: string
  readonly privateKey: KeyObject
}

export interface Issuer {
  readonly certificatePem: string
  readonly privateKey: KeyObject
}

const serverAuth = '1.3.6.1.5.5.7.3.1'
const clientAuth = '1.3.6.1.5.5.7.3.2'

/**
 * Issues an X.509 v3 certificate (RFC 5280) for a new P-256 key, signed with ECDSA and SHA-256; by itself when there
 * is no issuer. The library that writes it is loaded only when something must be written.
 */
export async function issueCertificate(plan: CertificatePlan, issuer: Issuer | undefined): Promise<Issued> {
  const pkijs = await import('pkijs')
  const asn1js = await import('asn1js')
  // The library's type lags behind the DOM's (key encapsulation, which is not used here).
  const engine: unknown = new pkijs.CryptoEngine({ name: 'node', crypto: webcrypto as Crypto })
  pkijs.setEngine('node', engine as ReturnType<typeof pkijs.getCrypto> & object)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const usages = { name: 'ECDSA', namedCurve: 'P-256' } as const
  const signer = issuer?.privateKey ?? privateKey

  const certificate = new pkijs.Certificate()
  certificate.version = 2
  const serial = randomBytes(20)
  serial.writeUInt8((serial.readUInt8(0) & 0x7f) | 0x40, 0) // positive, and always 20 bytes (RFC 5280 §4.1.2.2)
  certificate.serialNumber = new asn1js.Integer({ valueHex: view(serial) })
  certificate.subject = nameOf(plan.commonName)
  certificate.issuer = issuer === undefined ? certificate.subject : parse(issuer.certificatePem).subject
  certificate.notBefore.value = plan.notBefore
  certificate.notAfter.value = plan.notAfter
  await certificate.subjectPublicKeyInfo.importKey(
    publicKey.toCryptoKey(usages, true, ['verify']) as CryptoKey,
  )

  const keyId = (info: InstanceType<typeof pkijs.PublicKeyInfo>): ArrayBuffer =>
    view(createHash('sha1').update(info.subjectPublicKey.valueBlock.valueHexView).digest()) // RFC 5280 §4.2.1.2 (1)
  const authorityInfo =
    issuer === undefined
      ? certificate.subjectPublicKeyInfo
      : parse(issuer.certificatePem).subjectPublicKeyInfo
  const extension = (extnID: string, critical: boolean, value: { toBER(): ArrayBuffer }) =>
    new pkijs.Extension({ extnID, critical, extnValue: value.toBER() })
  const isAuthority = plan.purpose === 'authority'
  certificate.extensions = [
    extension(
      '2.5.29.19',
      true,
      new pkijs.BasicConstraints(isAuthority ? { cA: true, pathLenConstraint: 0 } : {}).toSchema(),
    ),
    extension('2.5.29.15', true, keyUsage(isAuthority ? 0b0000_0110 : 0b1000_0000)),
    extension(
      '2.5.29.14',
      false,
      new asn1js.OctetString({ valueHex: keyId(certificate.subjectPublicKeyInfo) }),
    ),
    extension(
      '2.5.29.35',
      false,
      new pkijs.AuthorityKeyIdentifier({
        keyIdentifier: new asn1js.OctetString({ valueHex: keyId(authorityInfo) }),
      }).toSchema(),
    ),
  ]
  if (!isAuthority) {
    const keyPurposes = [plan.purpose === 'server' ? serverAuth : clientAuth]
    certificate.extensions.push(
      extension('2.5.29.37', false, new pkijs.ExtKeyUsage({ keyPurposes }).toSchema()),
    )
  }
  const names = [
    ...plan.hostnames.map((value) => new pkijs.GeneralName({ type: 2, value })),
    ...plan.addresses.map(
      (value) =>
        new pkijs.GeneralName({
          type: 7,
          value: new asn1js.OctetString({ valueHex: view(addressBytes(value)) }),
        }),
    ),
  ]
  if (names.length > 0)
    certificate.extensions.push(extension('2.5.29.17', false, new pkijs.GeneralNames({ names }).toSchema()))

  await certificate.sign(signer.toCryptoKey(usages, true, ['sign']) as CryptoKey, 'SHA-256')
  const der = Buffer.from(certificate.toSchema(true).toBER())
  return {
    certificatePem: `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    privateKey,
  }

  function parse(pem: string): InstanceType<typeof pkijs.Certificate> {
    return pkijs.Certificate.fromBER(view(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')))
  }

  function nameOf(commonName: string): InstanceType<typeof pkijs.RelativeDistinguishedNames> {
    const value = new asn1js.Utf8String({ value: commonName })
    return new pkijs.RelativeDistinguishedNames({
      typesAndValues: [new pkijs.AttributeTypeAndValue({ type: '2.5.4.3', value })],
    })
  }

  /** KeyUsage bits, the first named bit (digitalSignature) being the highest (RFC 5280 §4.2.1.3). */
  function keyUsage(bits: number): { toBER(): ArrayBuffer } {
    let unused = 0
    while (((bits >> unused) & 1) === 0) unused += 1
    return new asn1js.BitString({ valueHex: view(Buffer.from([bits])), unusedBits: unused })
  }
}

/** IPv4 (4 bytes) or IPv6 (16 bytes) in network order. */
export function addressBytes(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  const [left, right] = [groups(head), address.includes('::') ? groups(tail) : []]
  const middle: number[] = Array.from({ length: 8 - left.length - right.length }, () => 0)
  return Buffer.from([...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]))
}

function view(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}
