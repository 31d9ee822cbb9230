import type { LocalCertificate } from '@warder/server'

/** Certificates that the local authority issues on the first run. */
export const localCertificates: readonly LocalCertificate[] = [
  { name: 'auth', commonName: 'Warder auth' },
  { name: 'kms', commonName: 'Warder kms' },
  // For clients of the KMIP socket that support only RSA.
  { name: 'kms-rsa', commonName: 'Warder kms', keyType: 'rsa', optional: true },
  { name: 'client', commonName: 'kmip-client', purpose: 'client' },
]
