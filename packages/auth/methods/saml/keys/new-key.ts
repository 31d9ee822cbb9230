import { issueCertificate } from '@warder/server'

/** Identity providers ignore the dates of a certificate in metadata; some administrators check them. */
const years = 20
const day = 86_400

export interface NewSpKey {
  /** PEM. */
  readonly certificate: string
  /** DER; to be wiped. */
  readonly pkcs8: Buffer
}

/** Generates an RSA key of 3072 bits, sufficient beyond 2030 (SP 800-57 part 1 §5.6.3). @param now Unix seconds */
export async function newSpKey(now: number): Promise<NewSpKey> {
  const issued = await issueCertificate(
    {
      commonName: 'Warder SAML service provider',
      purpose: 'client',
      hostnames: [],
      addresses: [],
      notBefore: new Date((now - day) * 1000),
      notAfter: new Date((now + years * 365 * day) * 1000),
      keyType: 'rsa',
      rsaBits: 3072,
    },
    undefined,
  )
  return {
    certificate: issued.certificatePem,
    pkcs8: issued.privateKey.export({ format: 'der', type: 'pkcs8' }),
  }
}
