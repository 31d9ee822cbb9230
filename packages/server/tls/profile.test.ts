import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { StartupError } from '@warder/base'
import { day, issue, newFolder, type PairFiles, rsaPair, writeFiles } from './fixtures/certificates.ts'
import { type LiveServer, serve, serveOpen, shake } from './fixtures/handshake.ts'
import { renegotiate } from './fixtures/renegotiation.ts'
import type { IssuedCertificate } from './local-authority.ts'
import { type TlsFiles, type TlsProfile, tlsProfile } from './profile.ts'

const folder = newFolder()
const servers: LiveServer[] = []
let [authority, stranger] = [{} as IssuedCertificate, {} as IssuedCertificate]
let server = {} as PairFiles
let rsa = {} as PairFiles
let clientsCaFile = ''

before(async () => {
  authority = await issue({ commonName: 'clients', purpose: 'authority' })
  stranger = await issue({ commonName: 'clients', purpose: 'authority' })
  server = writeFiles(folder, 'server', await issue({ commonName: 'server' }))
  rsa = writeFiles(folder, 'rsa', await rsaPair())
  clientsCaFile = writeFiles(folder, 'clients', authority).certFile
})
after(() => {
  for (const one of servers) one.close()
  rmSync(folder, { recursive: true })
})

async function live(more: Partial<TlsFiles> = {}, changes: Partial<TlsProfile> = {}): Promise<LiveServer> {
  const one = await serve({ ...tlsProfile({ ...server, ...more }), ...changes })
  servers.push(one)
  return one
}

/** Options of a client; it does not check the server here. */
const client = (options: ConnectionOptions = {}): ConnectionOptions => ({
  rejectUnauthorized: false,
  ...options,
})
const only = (version: 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'): ConnectionOptions =>
  client({ minVersion: version, maxVersion: version })
const fails = (one: LiveServer, options: ConnectionOptions, code: RegExp) =>
  assert.rejects(shake(one, options), (error: NodeJS.ErrnoException) => {
    assert.match(String(error.code), code)
    return true
  })

const old = { ...only('TLSv1.1'), ciphers: 'DEFAULT@SECLEVEL=0' }

test('TLS 1.3 and 1.2 are spoken, the newer one when the client may choose', async () => {
  const one = await live()
  assert.equal((await shake(one, client())).protocol, 'TLSv1.3')
  assert.equal((await shake(one, only('TLSv1.3'))).protocol, 'TLSv1.3')
  const { protocol, cipher } = await shake(one, only('TLSv1.2'))
  assert.equal(protocol, 'TLSv1.2')
  assert.match(cipher, /^ECDHE-ECDSA-/)
})

test('a client names the version of HTTP that it speaks, or none (RFC 7301)', async () => {
  const one = await live()
  for (const ALPNProtocols of [undefined, ['h2', 'http/1.1'], ['http/1.1'], ['http/1.0']])
    assert.equal(
      (await shake(one, { ...client(), ...(ALPNProtocols && { ALPNProtocols }) })).protocol,
      'TLSv1.3',
    )
  await fails(one, client({ ALPNProtocols: ['h2'] }), /NO_APPLICATION_PROTOCOL/)
})

test('TLS 1.1 is refused to every client', async () => {
  const lax = await live({}, { minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  assert.equal((await shake(lax, old)).protocol, 'TLSv1.1', 'this client can speak it')
  await fails(await live(), old, /PROTOCOL_VERSION/)
})

test('a suite outside of the profile is not spoken', async () => {
  const weak = { ...only('TLSv1.2'), ciphers: 'ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA256' }
  const lax = await live({}, { ciphers: 'DEFAULT' })
  assert.match((await shake(lax, weak)).cipher, /^ECDHE-ECDSA-AES128-SHA/, 'this client can speak it')
  await fails(await live(), weak, /HANDSHAKE_FAILURE/)
})

test('a key exchange without forward secrecy is not spoken', async () => {
  const weak = { ...only('TLSv1.2'), ciphers: 'AES128-GCM-SHA256' }
  const lax = await live(rsa, { ciphers: 'DEFAULT' })
  assert.equal((await shake(lax, weak)).cipher, 'AES128-GCM-SHA256', 'this client can speak it')
  await fails(await live(rsa), weak, /HANDSHAKE_FAILURE/)
})

test('only the suites that are configured are spoken, and only their versions', async () => {
  const modern = await live({ cipherSuites: 'TLS_AES_256_GCM_SHA384' })
  assert.equal((await shake(modern, client())).cipher, 'TLS_AES_256_GCM_SHA384')
  await fails(modern, only('TLSv1.2'), /PROTOCOL_VERSION/)
  await fails(modern, { ...only('TLSv1.3'), ciphers: 'TLS_AES_128_GCM_SHA256' }, /HANDSHAKE_FAILURE/)

  const classic = await live({ cipherSuites: 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384' })
  const { protocol, cipher } = await shake(classic, client())
  assert.deepEqual([protocol, cipher], ['TLSv1.2', 'ECDHE-ECDSA-AES256-GCM-SHA384'])
  await fails(classic, only('TLSv1.3'), /PROTOCOL_VERSION/)
})

test('each suite of TLS 1.2 that may be configured alone is spoken with a fitting key', async () => {
  for (const [suite, files] of [
    ['ECDHE-ECDSA-CHACHA20-POLY1305', server],
    ['ECDHE-RSA-AES128-GCM-SHA256', rsa],
    ['DHE-RSA-AES128-GCM-SHA256', rsa],
    ['DHE-RSA-AES256-GCM-SHA384', rsa],
  ] as const) {
    const { cipher } = await shake(await live({ ...files, cipherSuites: suite }), client())
    assert.equal(cipher, suite)
  }
})

test('DHE is spoken only when it is configured', async () => {
  const dhe = { ...only('TLSv1.2'), ciphers: 'DHE-RSA-AES128-GCM-SHA256' }
  await fails(await live(rsa), dhe, /HANDSHAKE_FAILURE/)
  const named = await live({ ...rsa, cipherSuites: 'TLS_AES_128_GCM_SHA256:DHE-RSA-AES128-GCM-SHA256' })
  assert.equal((await shake(named, dhe)).protocol, 'TLSv1.2')
})

test('a client certificate is asked for only when an authority for it is set', async () => {
  const { certificatePem, keyPem } = await issue({ commonName: 'alice', purpose: 'client' }, authority)
  const mine = client({ cert: certificatePem, key: keyPem })
  const anonymous = { commonName: null, presentedUnverified: false, resumed: false }
  assert.deepEqual((await shake(await live(), mine)).seen, anonymous)
  assert.deepEqual((await shake(await live({ clientsCaFile }), client())).seen, anonymous)
  assert.deepEqual((await shake(await live({ clientsCaFile }), mine)).seen, {
    ...anonymous,
    commonName: 'alice',
  })
})

test('a client certificate that does not verify identifies no user, and is distinguished from none', async () => {
  const one = await live({ clientsCaFile })
  const now = Date.now()
  const alice = { commonName: 'alice', purpose: 'client' } as const
  const wrong = {
    'of another authority with the same name': await issue(alice, stranger),
    'signed by itself': await issue(alice),
    expired: await issue({ ...alice, notAfter: new Date(now - 1000) }, authority),
    'not valid yet': await issue({ ...alice, notBefore: new Date(now + day / 2) }, authority),
    'for a server': await issue({ ...alice, purpose: 'server' }, authority),
    'issued by a client certificate': await issue(alice, await issue(alice, authority)),
  }
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    for (const [what, { certificatePem, keyPem }] of Object.entries(wrong)) {
      const { seen } = await shake(one, { ...only(version), cert: certificatePem, key: keyPem })
      assert.deepEqual(seen, { commonName: null, presentedUnverified: true, resumed: false }, what)
    }
  }
})

test('where a client certificate is required, only clients with a verified one connect', async () => {
  const one = await live({ clientsCaFile, requireClientCertificate: true })
  const alice = { commonName: 'alice', purpose: 'client' } as const
  const [right, wrong] = [await issue(alice, authority), await issue(alice, stranger)]
  const present = ({ certificatePem, keyPem }: IssuedCertificate) =>
    client({ cert: certificatePem, key: keyPem })
  assert.equal((await shake(one, present(right))).seen.commonName, 'alice')
  await fails(one, client(), /CERTIFICATE_REQUIRED/)
  await fails(one, present(wrong), /^CLOSED$|ECONNRESET/)
})

test('files that cannot be used stop the start with one line that names setting and file', async () => {
  const text = join(folder, 'text.pem')
  writeFileSync(text, 'hunter2')
  const missing = join(folder, 'missing.pem')
  const other = writeFiles(folder, 'other', await issue({}))
  const weak = { cipherSuites: 'AES128-SHA' }
  const cases: readonly (readonly [Partial<TlsFiles>, RegExp])[] = [
    [{ certFile: missing }, /^tls_cert_file: cannot read .*missing\.pem/],
    [{ keyFile: missing }, /^tls_key_file: cannot read .*missing\.pem/],
    [{ clientsCaFile: missing }, /^clients_ca_cert_file: cannot read .*missing\.pem/],
    [{ certFile: text }, /^tls_cert_file: .*text\.pem contains no certificate/],
    [{ keyFile: text }, /^tls_key_file: .*text\.pem contains no private key/],
    [{ clientsCaFile: text }, /^clients_ca_cert_file: .*text\.pem contains no certificate/],
    [{ certFile: server.keyFile }, /^tls_cert_file: .* contains no certificate/],
    [{ keyFile: other.keyFile }, /^tls_key_file: .*other\.key is not the key of .*server\.crt/],
    [{ requireClientCertificate: true }, /cannot be required without clients_ca_cert_file/],
    [weak, /^tls_cipher_suites: 'AES128-SHA' is unknown/],
    [{ cipherSuites: 'ECDHE-RSA-AES128-GCM-SHA256' }, /^tls_cipher_suites: .* needs an RSA key/],
    [{ ...rsa, cipherSuites: 'ECDHE-ECDSA-AES128-GCM-SHA256' }, /^tls_cipher_suites: .* needs an ECDSA key/],
  ]
  for (const [files, reason] of cases) {
    assert.throws(
      () => tlsProfile({ ...server, ...files }),
      (error: unknown) => {
        assert.ok(error instanceof StartupError, String(error))
        assert.match(error.message, reason)
        assert.ok(!error.message.includes('\n') && !error.message.includes('hunter2'), error.message)
        return true
      },
    )
  }
})

// CVE-2011-1473
test('a client of TLS 1.2 cannot renegotiate, also after a reload', async () => {
  const echo = await serveOpen(tlsProfile(server))
  servers.push(echo)
  assert.match(await renegotiate(echo.port), /NO_RENEGOTIATION/)
  echo.server.setSecureContext(tlsProfile(server))
  assert.match(await renegotiate(echo.port), /NO_RENEGOTIATION/)
})

test('the options are plain data, as they travel to worker threads', () => {
  const profile = tlsProfile({ ...server, clientsCaFile, ticketKeys: Buffer.alloc(48, 1) })
  assert.deepEqual(Object.keys(structuredClone(profile)), Object.keys(profile))
})

test('the files of a server are read with a byte order mark, text before the blocks, CRLF, and as DER', async () => {
  const [cert, key] = [readFileSync(server.certFile, 'utf8'), readFileSync(server.keyFile, 'utf8')]
  const authorities = readFileSync(clientsCaFile, 'utf8')
  const addPreamble = (text: string) => `\ufeffsubject=CN=x\r\n${text.replaceAll('\n', '\r\n')}`
  const der = createPrivateKey(key).export({ format: 'der', type: 'pkcs8' })
  const forms: readonly (readonly [string | Buffer, string | Buffer, string | Buffer])[] = [
    [addPreamble(cert), addPreamble(key), addPreamble(authorities)],
    [new X509Certificate(cert).raw, der, new X509Certificate(authorities).raw],
  ]
  for (const [index, contents] of forms.entries()) {
    const [certFile, keyFile, caFile] = contents.map((content, place) => {
      const file = join(folder, `form-${index}-${place}`)
      writeFileSync(file, content)
      return file
    }) as [string, string, string]
    const one = await live({ certFile, keyFile, clientsCaFile: caFile })
    assert.equal((await shake(one, client())).protocol, 'TLSv1.3')
  }
})
