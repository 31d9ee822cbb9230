import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createServer, type TLSSocket } from 'node:tls'
import { StartupError, systemClock } from '@warder/base'
import { readOutboundAccess } from '@warder/outbound'
import { startProxy } from '@warder/outbound/testing'
import { writePkcs12 } from '@warder/pki'
import { ensureLocalAuthority } from '@warder/server'
import { RootKeyUnavailable } from '@warder/storage'
import { createKmipProvider } from './kmip.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-kmip-'))
const at = (name: string): string => join(folder, name)
await ensureLocalAuthority({
  folder,
  clock: systemClock,
  certificates: [
    { name: 'server', commonName: 'Server' },
    { name: 'client', commonName: 'warder', purpose: 'client' },
  ],
})

let reply: (socket: TLSSocket) => void = () => undefined
const server = createServer(
  {
    cert: readFileSync(at('server.crt')),
    key: readFileSync(at('server.key')),
    ca: readFileSync(at('ca.crt')),
    requestCert: true,
    rejectUnauthorized: true,
  },
  (socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => reply(socket))
  },
)
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

const settings = {
  'root_key_kmip.server': `127.0.0.1:${(server.address() as AddressInfo).port}` as string | undefined,
  'root_key_kmip.key_id': 'key',
  proxy: undefined,
  'root_key_kmip.cert_file': at('client.crt') as string | undefined,
  'root_key_kmip.key_file': at('client.key') as string | undefined,
  'root_key_kmip.p12_file': undefined as string | undefined,
  'root_key_kmip.p12_password_file': undefined as string | undefined,
  'root_key_kmip.ca_file': at('ca.crt') as string | undefined,
}
const wrap = (more: Partial<typeof settings> = {}) =>
  createKmipProvider({ ...settings, ...more }, (path) => path).wrap(Buffer.alloc(32), Buffer.from('context'))

test('a server that closes the connection, is away or is not trusted may be tried again', async () => {
  reply = (socket) => socket.end()
  await assert.rejects(wrap(), RootKeyUnavailable)
  await assert.rejects(wrap({ 'root_key_kmip.server': '127.0.0.1:9' }), RootKeyUnavailable)
  await assert.rejects(wrap({ 'root_key_kmip.ca_file': undefined }), RootKeyUnavailable)
})

test('a response that is too large, or is no KMIP, is refused with the name of the server', async () => {
  for (const bytes of [
    'HTTP/1.1 400 Bad Request',
    '\x42\x00\x7b\x01\x7f\x00\x00\x00',
    '\x42\x00\x7b\x01\x00\x00\x00\x00',
  ]) {
    reply = (socket) => void socket.write(Buffer.from(bytes, 'latin1'))
    await assert.rejects(wrap(), (error: unknown) => {
      assert.ok(error instanceof StartupError, String(error))
      assert.match(error.message, /^127\.0\.0\.1:\d+ sent no valid KMIP response: /)
      return true
    })
  }
})

test('a client certificate that has expired is named before a connection', async () => {
  const longAgo = { ...systemClock, now: () => Date.parse('2001-01-01') }
  const old = mkdtempSync(join(tmpdir(), 'warder-kmip-old-'))
  after(() => rmSync(old, { recursive: true }))
  await ensureLocalAuthority({
    folder: old,
    clock: longAgo,
    certificates: [{ name: 'client', commonName: 'warder', purpose: 'client' }],
  })
  const files = {
    'root_key_kmip.cert_file': join(old, 'client.crt'),
    'root_key_kmip.key_file': join(old, 'client.key'),
  }
  assert.throws(
    () => createKmipProvider({ ...settings, ...files }, (path) => path),
    /root_key_kmip\.cert_file: the certificate \S+client\.crt has expired at 20\S+: renew it/,
  )
})

test('the connection takes a tunnel of the proxy, and TLS is that of the server', async () => {
  const proxy = await startProxy()
  const access = readOutboundAccess(
    {
      outbound_allow_private_networks: false,
      outbound_ca_file: undefined,
      outbound_proxy: proxy.url,
      outbound_proxy_credentials_file: undefined,
      outbound_proxy_resolves: true,
      outbound_no_proxy: [],
    },
    folder,
    {},
  )
  const named = {
    ...settings,
    proxy: access.proxy,
    'root_key_kmip.server': `kmip.internal:${(server.address() as AddressInfo).port}`,
  }
  const provider = createKmipProvider(named, (path) => path)
  const unwrap = () => provider.unwrap(Buffer.alloc(48), Buffer.from('context'))
  await assert.rejects(unwrap(), (error: unknown) => {
    assert.ok(error instanceof RootKeyUnavailable)
    assert.match(error.message, /kmip\.internal\. is not in the cert's altnames/)
    return true
  })
  proxy.fault = () => 'close'
  await assert.rejects(unwrap(), (error: unknown) => {
    assert.ok(error instanceof RootKeyUnavailable)
    assert.match(error.message, /^the proxy http:\S+ cannot be used/)
    return true
  })
  assert.deepEqual(new Set(proxy.seen.map(({ target }) => target)), new Set([named['root_key_kmip.server']]))
  await proxy.close()
})

test('the client certificate of a PKCS#12 file is shown to the server', async () => {
  const privateKey = createPrivateKey(readFileSync(at('client.key'))).export({ format: 'der', type: 'pkcs8' })
  const certificates = [new X509Certificate(readFileSync(at('client.crt'))).raw]
  const content = { privateKey, certificates, friendlyName: undefined }
  writeFileSync(at('client.p12'), await writePkcs12(content, 'open sesame', { legacy: false }), {
    mode: 0o600,
  })
  writeFileSync(at('password'), 'open sesame\n', { mode: 0o600 })
  const bundle = {
    'root_key_kmip.cert_file': undefined,
    'root_key_kmip.key_file': undefined,
    'root_key_kmip.p12_file': at('client.p12'),
    'root_key_kmip.p12_password_file': at('password'),
  }
  let name: string | undefined
  reply = (socket) => {
    name = socket.getPeerX509Certificate()?.subject
    socket.end()
  }
  await assert.rejects(wrap(bundle), RootKeyUnavailable)
  assert.equal(name, 'CN=warder')
  const create = (more: Partial<typeof settings>) => () =>
    createKmipProvider({ ...settings, ...bundle, ...more }, (path) => path)
  assert.throws(
    create({ 'root_key_kmip.cert_file': 'x' }),
    /p12_file is set and root_key_kmip\.cert_file too/,
  )
  assert.throws(
    create({ 'root_key_kmip.p12_file': undefined }),
    /p12_password_file requires root_key_kmip\.p12_file/,
  )
  writeFileSync(at('password'), 'wrong')
  assert.throws(create({}), /root_key_kmip: .* cannot be used: The password does not open the PKCS#12 file/)
  chmodSync(at('client.p12'), 0o644)
  assert.throws(create({}), /root_key_kmip\.p12_file: \S+ can be read by others/)
})

test('missing settings, and files that cannot be used, are refused before a connection', () => {
  const create = (more: Partial<typeof settings>) => () =>
    createKmipProvider({ ...settings, ...more }, (path) => path)
  assert.throws(create({ 'root_key_kmip.server': undefined }), /requires root_key_kmip\.server/)
  assert.throws(create({ 'root_key_kmip.cert_file': at('absent') }), /cannot be used: ENOENT/)
  assert.throws(create({ 'root_key_kmip.ca_file': at('absent') }), /cannot be used: ENOENT/)
  chmodSync(at('client.key'), 0o644)
  assert.throws(create({}), /root_key_kmip\.key_file: \S+ can be read by others/)
})
