import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runSigning } from '@warder/kms/testing'
import { canRun, runProgram } from '../run-program.ts'
import { type PkiWorld, startPkiWorld } from './world.ts'

let world: PkiWorld
before(async () => {
  world = await startPkiWorld(runSigning)
})
after(() => world[Symbol.asyncDispose]())

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const without = (tool: string, ...words: string[]) => (canRun(tool, words) ? false : `${tool} is not here`)
const chain = (name: string) => [world.path('root'), world.path('issuing'), world.path(name)]

async function runCommand(command: string, args: readonly string[]): Promise<string> {
  const { out, err } = await runProgram(command, args)
  return `${out}${err}`.trim()
}

/** A revocation list in PEM, as OpenSSL and GnuTLS read them. */
async function list(of: 'root' | 'issuing'): Promise<string> {
  const base64 = (await world.crl(of)).toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN X509 CRL-----\n${base64.join('\n')}\n-----END X509 CRL-----\n`
}

/** The lists of both authorities in one file. */
async function lists(): Promise<string> {
  const file = world.path('lists')
  writeFileSync(file, (await list('root')) + (await list('issuing')))
  return file
}

test('OpenSSL: verify with revocation lists for the whole chain', {
  skip: without('openssl', 'version'),
}, async () => {
  const words = [
    'verify',
    '-x509_strict',
    '-crl_check_all',
    '-CRLfile',
    await lists(),
    '-CAfile',
    world.path('root'),
  ]
  const verify = (name: string, ...more: string[]) =>
    runCommand('openssl', [...words, '-untrusted', world.path('issuing'), ...more, world.path(name)])
  assert.match(await verify('good', '-verify_hostname', 'good.example'), /good\.pem: OK/)
  assert.match(await verify('revoked'), /certificate revoked/)
  assert.match(await verify('expired'), /certificate has expired/)
  assert.match(await verify('good', '-verify_hostname', 'bad.example'), /hostname mismatch/)
})

test('OpenSSL: ocsp over the network, with its nonce', { skip: without('openssl', 'version') }, async () => {
  const ask = (name: string, hash = '-sha1') =>
    runCommand('openssl', [
      ...['ocsp', hash, '-issuer', world.path('issuing'), '-cert', world.path(name)],
      ...['-CAfile', world.path('root'), '-url', `${world.url}/ocsp`],
    ])
  assert.match(await ask('good'), /good\.pem: good.*Response verify OK$/s)
  assert.match(
    await ask('revoked', '-sha256'),
    /revoked\.pem: revoked.*Reason: keyCompromise.*Response verify OK$/s,
  )
  assert.match(await ask('unknown'), /unknown\.pem: unknown.*Response verify OK$/s)
  assert.match(await ask('expired'), /expired\.pem: good.*Response verify OK$/s)
  assert.doesNotMatch(await ask('good'), /WARNING: no nonce/)
  // The root has not issued it.
  const other = [
    'ocsp',
    '-issuer',
    world.path('root'),
    '-cert',
    world.path('good'),
    '-url',
    `${world.url}/ocsp`,
  ]
  assert.match(await runCommand('openssl', other), /Responder Error: unauthorized/)
})

test('the JDK: PKIX with OCSP (GET) and with revocation lists', {
  skip: without('java', '--version'),
  timeout: 120_000,
}, async () => {
  const ask = (name: string, way: string) =>
    runCommand('java', ['-Dcom.sun.security.enableCRLDP=true', here('./Pkix.java'), ...chain(name), way])
  assert.equal(await ask('good', 'ocsp'), 'good')
  assert.ok(world.asked.some((line) => line.startsWith('GET /ocsp/M')))
  assert.match(await ask('revoked', 'ocsp'), /^REVOKED.*KEY_COMPROMISE/)
  assert.match(await ask('unknown', 'ocsp'), /^UNDETERMINED_REVOCATION_STATUS/)
  assert.equal(await ask('good', 'crl'), 'good')
  assert.match(await ask('revoked', 'crl'), /^REVOKED.*KEY_COMPROMISE/)
  assert.match(await ask('expired', 'crl'), /^EXPIRED/)
})

test('Go: crypto/x509 with the revocation list', {
  skip: without('go', 'version'),
  timeout: 300_000,
}, async () => {
  const list = world.path('issuing.crl')
  writeFileSync(list, await world.crl('issuing'))
  const program = world.path('go-pki')
  const built = await runProgram('go', ['build', '-C', here('./go'), '-o', program, '.'], {
    env: { GOPROXY: 'off', GOTOOLCHAIN: 'local' },
    timeoutMs: 280_000,
  })
  assert.equal(built.code, 0, built.err)
  const ask = (name: string, host = `${name}.example`) => runCommand(program, [...chain(name), list, host])
  assert.equal(await ask('good'), 'good')
  assert.equal(await ask('revoked'), 'revoked, reason 1')
  assert.match(await ask('expired'), /certificate has expired/)
  assert.match(await ask('good', 'other.example'), /valid for good\.example/)
})

test('GnuTLS: certtool and ocsptool', {
  skip: without('certtool', '--version') || without('ocsptool', '--version'),
}, async () => {
  const [trust, checked] = [world.path('root'), await lists()]
  const verify = (name: string) => {
    writeFileSync(
      world.path('chain'),
      [name, 'issuing', 'root'].map((one) => readFileSync(world.path(one))).join(''),
    )
    const what = ['--load-ca-certificate', trust, '--load-crl', checked, '--infile', world.path('chain')]
    return runCommand('certtool', ['--verify', ...what])
  }
  const verdict = 'Chain verification output: '
  assert.match(await verify('good'), new RegExp(`${verdict}Verified\\.`))
  assert.match(await verify('revoked'), new RegExp(`${verdict}Not verified\\..*revoked`))
  assert.match(await verify('expired'), new RegExp(`${verdict}Not verified\\..*expired`))
  const verifyList = async (of: 'root' | 'issuing', by: string) => {
    writeFileSync(world.path('list'), await list(of))
    const what = ['--load-ca-certificate', world.path(by), '--infile', world.path('list')]
    return runCommand('certtool', ['--verify-crl', ...what])
  }
  assert.match(await verifyList('issuing', 'issuing'), /output: Verified\./)
  assert.match(await verifyList('root', 'root'), /output: Verified\./)
  assert.match(await verifyList('issuing', 'root'), /output: Not verified\./)

  const ask = (name: string, ...more: string[]) =>
    runCommand('ocsptool', [
      // The address is an optional value of the option: in the next word it would not belong to it.
      `--ask=${world.url}/ocsp`,
      '--load-issuer',
      world.path('issuing'),
      '--load-cert',
      world.path(name),
      // It builds no path: whom the responder's certificate comes from is what it trusts.
      '--load-trust',
      world.path('issuing'),
      ...more,
    ])
  const holds = 'Verifying OCSP Response: Success\\.'
  const expectStatus = (status: string) => new RegExp(`Certificate Status: ${status}[^]*${holds}`)
  assert.match(await ask('good'), expectStatus('good'))
  assert.match(await ask('good', '--nonce'), expectStatus('good[^]*Nonce: '))
  assert.match(await ask('expired'), expectStatus('good'))
  assert.match(await ask('revoked'), expectStatus('revoked'))
  assert.match(await ask('unknown'), expectStatus('unknown'))
})
