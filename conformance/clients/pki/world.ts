import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@warder/base'
import { outsider, type Started, startKms } from '@warder/kms/testing'
import { query } from '@warder/storage'

/** A service with an authority below a root, behind a proxy that speaks plain HTTP, and certificates in files. */
export interface PkiWorld extends AsyncDisposable {
  /** `http://127.0.0.1:…`, as in the certificates. */
  readonly url: string
  /** Method and path of the requests through the proxy. */
  readonly asked: readonly string[]
  /** The file of a certificate, or with `-key` behind its name of its key. */
  readonly path: (name: string) => string
  /** DER of the revocation list of the issuing authority, as it is now. */
  crl(of: 'root' | 'issuing'): Promise<Buffer>
}

const forget = query<[id: string], unknown>('DELETE FROM pki_issued WHERE certificate_id = ?')

const day = 86_400_000

/**
 * Of servers `good`, `revoked`, `expired`, and `unknown`: one that the register does not know, as if another party had the
 * key; of clients `device`, and `stolen`, which is revoked. The authorities are ten days old, so that lists and responders
 * have been renewed.
 */
export async function startPkiWorld(signDue: (kms: Started) => Promise<void>): Promise<PkiWorld> {
  await using opened = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'warder-pkix-'))
  opened.defer(() => rmSync(folder, { recursive: true, force: true }))
  const target = { port: 0, ca: '' }
  const asked: string[] = []
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    asked.push(`${method} ${path}`)
    const forwarded = request(
      { host: '127.0.0.1', servername: 'localhost', method, path, headers, ...target },
      (answer) => {
        // They are about one connection (RFC 9110 §7.6.1): who asked by HTTP/1.0 waits for the end of theirs.
        const { connection: _, 'keep-alive': __, ...passed } = answer.headers
        outgoing.writeHead(answer.statusCode ?? 502, passed)
        answer.pipe(outgoing)
      },
    )
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  opened.defer(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  let age = 10 * day
  const clock = { ...systemClock, now: () => Date.now() - age }
  const kms = opened.use(await startKms({ clock, config: { pki_public_url: url } }))
  Object.assign(target, { port: kms.port, ca: kms.ca })
  const make = async (body: object) =>
    (await kms.user('alice').post('/v1/pki/authorities', { alg: 'ES256', ...body })).json
  const root = await make({ subject: 'CN=Root, O=Acme' })
  const issuing = await make({
    subject: 'CN=Issuing, O=Acme',
    issuer: root.id,
    path_length: 0,
    permitted_names: ['example'],
  })
  const path = (name: string): string => join(folder, `${name}.pem`)
  writeFileSync(path('root'), root.certificate)
  writeFileSync(path('issuing'), issuing.certificate)
  const issue = async (name: string, wish: object): Promise<string> => {
    const { csr, privateKey } = await outsider(`CN=${name}.example`, [`DNS:${name}.example`])
    const body = { csr, days: 2, ...wish }
    const made = await kms.user('alice').post(`/v1/pki/authorities/${issuing.id}/certificates`, body)
    writeFileSync(path(name), made.json.certificate)
    writeFileSync(path(`${name}-key`), privateKey.export({ format: 'pem', type: 'pkcs8' }))
    return made.json.id
  }
  const revoke = (id: string) =>
    kms.user('alice').post(`/v1/pki/certificates/${id}/revoke`, { reason: 'keyCompromise' })
  await issue('expired', {})
  age = 0
  await issue('good', {})
  await revoke(await issue('revoked', {}))
  await kms.services.db.commit([{ query: forget, params: [await issue('unknown', {})] }])
  await issue('device', { profile: 'client' })
  await revoke(await issue('stolen', { profile: 'client' }))
  await signDue(kms)
  const running = opened.move()
  return {
    url,
    asked,
    path,
    crl: async (of) =>
      (await kms.with({}).get(`/public/certificates/${of === 'root' ? root.id : issuing.id}/crl`)).bytes,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
