import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePkcs12 } from '@warder/pki'
import { issueCertificate } from '@warder/server'

const dayMs = 86_400_000

/** An authority that is not the local one of a home. */
export interface OwnAuthority {
  readonly caFile: string
  /** A certificate of it as two files. @returns the settings that name them */
  certificate(
    service: 'AUTH' | 'KMS',
    hostnames: readonly string[],
    addresses: readonly string[],
  ): Promise<Record<string, string>>
}

/** @param folder for its files; the caller removes it */
export async function ownAuthority(folder: string): Promise<OwnAuthority> {
  const [notBefore, notAfter] = [new Date(Date.now() - dayMs), new Date(Date.now() + 30 * dayMs)]
  const dates = { notBefore, notAfter }
  const plan = { commonName: 'An authority', purpose: 'authority', hostnames: [], addresses: [] } as const
  const authority = await issueCertificate({ ...plan, ...dates }, undefined)
  const caFile = join(folder, 'own-ca.crt')
  writeFileSync(caFile, authority.certificatePem)
  return {
    caFile,
    async certificate(service, hostnames, addresses) {
      const server = { commonName: 'a service', purpose: 'server', hostnames, addresses } as const
      const issued = await issueCertificate({ ...server, ...dates }, authority)
      const [cert, key] = [join(folder, `${service}.crt`), join(folder, `${service}.key`)]
      writeFileSync(cert, issued.certificatePem)
      writeFileSync(key, issued.keyPem, { mode: 0o600 })
      return { [`${service}_TLS_CERT_FILE`]: cert, [`${service}_TLS_KEY_FILE`]: key }
    },
  }
}

/** Writes a certificate and its key as a PKCS#12 file. */
export async function writePkcs12File(
  path: string,
  password: string,
  { cert, key }: { readonly cert: string; readonly key: string },
): Promise<void> {
  const privateKey = createPrivateKey(readFileSync(key)).export({ format: 'der', type: 'pkcs8' })
  const certificates = [new X509Certificate(readFileSync(cert)).raw]
  const content = { privateKey, certificates, friendlyName: undefined }
  writeFileSync(path, await writePkcs12(content, password, { legacy: false }), { mode: 0o600 })
}
