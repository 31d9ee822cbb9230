import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { toPem } from '@warder/kms/testing'
import { basicConstraints, generalName, issueCertificate, nameFromParts, subjectAltName } from '@warder/pki'
import { derOctets } from '@warder/pki/testing'

/** A server of a certificate applicant: it answers tls-alpn-01 challenges. */
export interface TlsHost extends AsyncDisposable {
  readonly port: number
  /** Names in handshakes. */
  readonly asked: string[]
  /** Presents this response from now on. */
  answer(name: string, keyAuthorization: string, options?: { readonly critical?: boolean }): Promise<void>
  /** Presents a certificate that was created elsewhere. PEM */
  show(made: { readonly key: string; readonly cert: string }): void
}

export async function tlsHost(): Promise<TlsHost> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const asked: string[] = []
  const server = createServer({
    ...(await certificateFor(key, 'DNS:nobody.test', '', true)),
    ALPNProtocols: ['acme-tls/1'],
    SNICallback(name, done) {
      asked.push(name)
      done(null)
    },
  })
  server.on('tlsClientError', () => undefined)
  server.on('secureConnection', (socket) => socket.on('error', () => undefined))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async answer(name, keyAuthorization, { critical = true } = {}) {
      server.setSecureContext(await certificateFor(key, name, keyAuthorization, critical))
    },
    show: (made) => server.setSecureContext(made),
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** RFC 8737 §3 */
async function certificateFor(key: string, name: string, keyAuthorization: string, critical: boolean) {
  const privateKey = createPrivateKey(key)
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const subject = nameFromParts([])
  const now = Date.now()
  const digest = createHash('sha256').update(keyAuthorization).digest()
  const der = await issueCertificate(
    {
      subject,
      spki,
      notBefore: now - 60_000,
      notAfter: now + 60_000,
      extensions: [
        basicConstraints(false),
        subjectAltName([generalName(name)]),
        { identifier: '1.3.6.1.5.5.7.1.31', critical, value: derOctets(digest) },
      ],
    },
    { name: subject, key: privateKey, spki, keyIdentifier: undefined },
  )
  return { key, cert: toPem('CERTIFICATE', der) }
}
