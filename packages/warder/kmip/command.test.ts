import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { UsageError } from '@warder/command-line'
import { decodeNode, encodeNode, frameLength } from '@warder/kmip-codec'
import { issueCertificate } from '@warder/server'
import { type Installation, startInstallation } from '../testing/installation.ts'
import { writePkcs12File } from '../testing/own-authority.ts'
import { kmip } from './command.ts'
import { openConnection } from './connection.ts'

let warder: Installation
before(async () => {
  warder = await startInstallation({ env: { KMS_WORKERS: '2' } })
})
after(async () => {
  assert.equal(await warder.stop(), 0)
})

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function run(...args: readonly string[]): Promise<Ran> {
  const out: string[] = []
  const err: string[] = []
  const terminal = { out: (line: string) => out.push(line), err: (line: string) => err.push(line), env: {} }
  const code = await kmip.run(args, terminal)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

function file(name: string, content: string | Buffer): string {
  const path = join(warder.home, name)
  writeFileSync(path, content)
  return path
}

const create = JSON.stringify({
  tag: 'Create',
  value: [
    { tag: 'ObjectType', type: 'Enumeration', value: 'SymmetricKey' },
    {
      tag: 'Attributes',
      value: [
        { tag: 'CryptographicAlgorithm', type: 'Enumeration', value: 'AES' },
        { tag: 'CryptographicLength', type: 'Integer', value: 256 },
        { tag: 'CryptographicUsageMask', type: 'Integer', value: 12 },
      ],
    },
  ],
})
const query = `<RequestMessage><RequestHeader><ProtocolVersion><ProtocolVersionMajor type="Integer" value="1"/><ProtocolVersionMinor type="Integer" value="2"/></ProtocolVersion><BatchCount type="Integer" value="1"/></RequestHeader><BatchItem><Operation type="Enumeration" value="Query"/><RequestPayload><QueryFunction type="Enumeration" value="QueryOperations"/></RequestPayload></BatchItem></RequestMessage>`
const queryBytes = Buffer.from(encodeNode(decodeNode(Buffer.from(query), 'xml'), 'ttlv'))

test('query lists versions and operations of the started service', async () => {
  const { code, out } = await run('query', '--home', warder.home)
  assert.equal(code, 0, out)
  assert.match(out, /^Versions: 2\.1, 2\.0, 1\.4/m)
  assert.match(out, /^Operations: .*Create.*/m)
  assert.match(out, /^ {2}ProtectionStorageMask Software \| OnSystem$/m)
  assert.doesNotMatch(out, /^ *$/m)
  const { out: json } = await run('query', '--home', warder.home, '--as', 'json')
  assert.equal(JSON.parse(json).tag, 'ResponseMessage')
})

test('send takes XML, JSON, a single operation, binary and a hex dump, and answers in kind', async () => {
  const home = ['--home', warder.home]
  const xml = await run('send', file('q.xml', query), ...home)
  assert.match(xml.out, /^<ResponseMessage>\n +<ResponseHeader>\n/)
  assert.match(xml.out, / {6}<Operation type="Enumeration" value="Create"\/>/)
  const json = await run('send', file('c.json', create), ...home)
  assert.equal(json.code, 0, json.out)
  assert.match(json.out, /"tag": "UniqueIdentifier"/)
  const binary = await run('send', file('q.ttlv', queryBytes), ...home)
  assert.match(binary.out, /ResultStatus {2}Enumeration {2}Success/)
  const dump = await run('send', file('q.hex', queryBytes.toString('hex')), ...home, '--as', 'hex')
  assert.match(dump.out, /^42007b01/)
  assert.equal((await run('explain', dump.out)).code, 0)
})

test('send goes over HTTPS too, in each encoding; a failed item is exit code 1', async () => {
  const tls = (name: string): string => join(warder.home, 'tls', name)
  const places = [
    '--url',
    warder.kmsUrl,
    '--ca-file',
    warder.caFile,
    '--cert',
    tls('client.crt'),
    '--key',
    tls('client.key'),
  ]
  for (const over of ['ttlv', 'json', 'xml']) {
    const { code, out } = await run('send', file('c.json', create), ...places, '--over', over)
    assert.equal(code, 0, out)
  }
  const p12 = join(warder.home, 'client.p12')
  await writePkcs12File(p12, 'open sesame', { cert: tls('client.crt'), key: tls('client.key') })
  const bundle = ['--p12', p12, '--p12-password-file', file('p12-password', 'open sesame\n')]
  const { code: accepted } = await run('query', ...places.slice(0, 4), ...bundle)
  assert.equal(accepted, 0)
  await assert.rejects(run('query', ...places.slice(0, 4), '--p12', p12), {
    name: 'FileRefused',
    message: `${p12}: The password does not open the PKCS#12 file.`,
  })
  const get = '{"tag":"Get","value":[{"tag":"UniqueIdentifier","type":"TextString","value":"nothing"}]}'
  const { code, out } = await run('send', file('g.json', get), ...places, '--as', 'text')
  assert.equal(code, 1)
  assert.match(out, /ResultStatus {2}Enumeration {2}OperationFailed/)
})

test('What cannot be sent is told before anything is sent', async () => {
  await assert.rejects(run('send', warder.home), {
    name: 'FileRefused',
    message: `${warder.home}: illegal operation on a directory`,
  })
  const noCertificate = file('no-certificate', 'nothing')
  await assert.rejects(run('query', '--home', warder.home, '--ca-file', noCertificate), {
    name: 'StartupError',
    message: `${noCertificate} contains no certificate in PEM`,
  })
  await assert.rejects(run('query', '--socket', 'h:99999'), { name: 'UsageError', message: /1 to 65535/ })
  await assert.rejects(run('query', '--home', 'a', '--home=b'), {
    name: 'UsageError',
    message: '--home is given twice',
  })
  const refused: readonly (readonly [RegExp, ...string[]])[] = [
    [/does not exist/, 'send', join(warder.home, 'none.xml')],
    [/neither binary KMIP/, 'send', file('text', 'hello')],
    [/not a KMIP message/, 'send', file('bad.xml', '<RequestMessage>')],
    [/not a KMIP message/, 'send', file('bad.json', '{"tag":')],
    [/not a KMIP message/, 'send', file('unknown.json', '{"tag":"Fly","value":[]}')],
    [/name the file/, 'send'],
    [/--as must be/, 'send', 'x', '--as', 'toml'],
    [/--over must be/, 'query', '--over', 'toml'],
    [/must be given together/, 'query', '--cert', 'x'],
    [/give --p12 or --cert and --key/, 'query', '--p12', 'x', '--cert', 'x', '--key', 'x'],
    [/--p12-password-file needs --p12/, 'query', '--p12-password-file', 'x'],
    [/not both/, 'query', '--socket', 'a:1', '--url', 'https://a'],
    [/--socket must have the form/, 'query', '--socket', 'nonsense'],
    [/--kmip-version must be one of/, 'send', 'x', '--kmip-version', '3.0'],
    [/there is no verb 'fly'/, 'fly'],
    [/missing verb/],
    [/endpoints.json does not exist/, 'query', '--home', join(warder.home, 'elsewhere')],
    [/not a hex dump/, 'explain', 'zz'],
  ]
  for (const [sentence, ...args] of refused) await assert.rejects(run(...args), sentence, args.join(' '))
  await assert.rejects(run('fly'), UsageError)
})

test('explain shows a dump, and exits with 1 when something is wrong with it', async () => {
  const good = await run('explain', queryBytes.toString('hex'))
  assert.equal(good.code, 0)
  assert.match(good.out, /QueryFunction {2}Enumeration {2}QueryOperations/)
  const cut = await run('explain', queryBytes.subarray(0, 100).toString('hex'))
  assert.equal(cut.code, 1)
  assert.match(cut.err, /the length is/)
})

test('certificate issues one that the socket lets in as that user', async () => {
  const out = join(warder.home, 'storage-1')
  const { code, out: told } = await run('certificate', 'storage 1', '--home', warder.home, '--out', out)
  assert.equal(code, 0)
  assert.match(told, /storage-1\.crt and .*storage-1\.key: storage 1, until 20\d\d-/)
  assert.equal(statSync(`${out}.key`).mode & 0o777, 0o600)
  const as = ['--home', warder.home, '--cert', `${out}.crt`, '--key', `${out}.key`]
  const made = await run('send', file('c.json', create), ...as)
  assert.equal(made.code, 0)
  const id = /"tag": "UniqueIdentifier",\s*"type": "TextString",\s*"value": "([^"]+)"/.exec(made.out)?.[1]
  const get = file(
    'g.json',
    `{"tag":"Get","value":[{"tag":"UniqueIdentifier","type":"TextString","value":"${id}"}]}`,
  )
  assert.equal((await run('send', get, ...as)).code, 0)
  const other = await run('send', get, '--home', warder.home)
  assert.equal(other.code, 1)
  assert.match(other.out, /NotFound/)
  const refused: readonly (readonly [RegExp, ...string[]])[] = [
    [/storage-1\.key already exists and is not overwritten/, 'x', '--out', out],
    [/the folder does not exist/, 'x', '--out', join(warder.home, 'no', 'where')],
    [/not usable as a file name/, 'a/b'],
    [/the name must have 1 to 256/, '*', '--out', join(warder.home, 'star')],
    [/--days must be at least 1/, 'x', '--days', '0'],
    [/name the user/],
  ]
  for (const [sentence, ...args] of refused)
    await assert.rejects(run('certificate', '--home', warder.home, ...args), sentence)
  await assert.rejects(run('certificate', 'x', '--home', join(warder.home, 'none')), /ca.crt does not exist/)
})

test('devices refuses filters with a name', async () => {
  for (const filter of ['--search=x', '--expiring=30d'])
    await assert.rejects(run('devices', 'storage-1', filter), /omit them with NAME/)
})

test('revoke-certificate refuses a device on its open connections and on new ones, by socket and HTTPS, without a restart', async () => {
  const of = async (name: string) => {
    const out = join(warder.home, name)
    assert.equal((await run('certificate', name, '--home', warder.home, '--out', out)).code, 0)
    return { cert: readFileSync(`${out}.crt`, 'utf8'), key: readFileSync(`${out}.key`, 'utf8') }
  }
  const query = decodeNode(queryBytes, 'ttlv')
  const [stolen, kept] = [await of('stolen'), await of('kept')]
  const open = (['socket', 'https-ttlv'] as const).map((way) =>
    openConnection({ ...client(), url: warder.kmsUrl, ...stolen }, way),
  )
  const other = openConnection({ ...client(), ...kept }, 'socket')
  for (const connection of [...open, other]) await connection.exchange(query)
  const list = async (...words: string[]) => {
    const { code, out } = await run('certificates', '--home', warder.home, ...words)
    assert.equal(code, 0)
    return out
  }
  assert.match(
    await list('stolen'),
    /^USER +ENDS +STATE +SERIAL\nstolen +20\d\d-\d\d-\d\d +valid +[0-9A-F]+$/,
  )
  const told = await run('revoke-certificate', 'stolen', '--home', warder.home)
  assert.match(told.out, /^stolen: revoked [0-9A-F]+, which was valid until 20/)
  assert.match(await list('stolen'), /^stolen +20.* revoked, keyCompromise +/m)
  const listed = JSON.parse(await list('--json'))
  assert.deepEqual(
    listed
      .filter(({ state }: { state: string }) => state === 'revoked')
      .map(({ name }: { name: string }) => name),
    ['stolen'],
  )
  assert.match(await list('--expiring', '400d'), /^kept +20/m)
  assert.doesNotMatch(await list('--expiring', '400d'), /^stolen/m)
  assert.match(await list('--expiring', '1d'), /^no certificates match/)
  assert.match(await list('nothing'), /^no certificates match/)
  for (const [sentence, ...words] of [
    [/--expiring must be a duration/, '--expiring', 'soon'],
    [/unknown argument: b/, 'a', 'b'],
    [/tls does not exist: name the home/, '--home', join(warder.home, 'none')],
  ] as const)
    await assert.rejects(run('certificates', ...words), sentence)
  for (const connection of open) await assert.rejects(connection.exchange(query))
  for (const way of ['socket', 'https-ttlv'] as const) {
    const anew = openConnection({ ...client(), url: warder.kmsUrl, ...stolen }, way)
    await assert.rejects(anew.exchange(query))
    anew.close()
  }
  await other.exchange(query)
  const [notBefore, notAfter] = [new Date(Date.now() - 1000), new Date(Date.now() + 60_000)]
  const stranger = await issueCertificate(
    { commonName: 'stranger', purpose: 'client', hostnames: [], addresses: [], notBefore, notAfter },
    undefined,
  )
  const strangerFile = file('stranger.crt', stranger.certificatePem)
  const refused: readonly (readonly [RegExp, ...string[]])[] = [
    [/is already revoked/, 'stolen'],
    [/no certificate of nobody is recorded/, 'nobody'],
    [/--reason must be one of/, 'kept', '--reason', 'boredom'],
    [/not of kept/, 'kept', '--cert', join(warder.home, 'stolen.crt')],
    [/cannot be read as a certificate/, 'kept', '--cert', join(warder.home, 'none.crt')],
    [/was not issued by/, 'stranger', '--cert', strangerFile],
  ]
  for (const [sentence, ...words] of refused)
    await assert.rejects(run('revoke-certificate', ...words, '--home', warder.home), sentence)
  for (const connection of [...open, other]) connection.close()
})

test('certificate --rsa issues one with an RSA key; the socket has one for TLS 1.2 with RSA suites', async () => {
  const out = join(warder.home, 'old-device')
  assert.equal((await run('certificate', 'old', '--rsa', '--home', warder.home, '--out', out)).code, 0)
  const [cert, key] = [readFileSync(`${out}.crt`), readFileSync(`${out}.key`)]
  assert.equal(new X509Certificate(cert).publicKey.asymmetricKeyType, 'rsa')
  const { socket: place, ca } = client()
  for (const [ciphers, type] of [
    ['ECDHE-RSA-AES256-GCM-SHA384', 'rsa'],
    ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ec'],
  ]) {
    const socket = connect({
      ...place,
      servername: 'localhost',
      ca,
      cert,
      key,
      ciphers,
      maxVersion: 'TLSv1.2',
    })
    await once(socket, 'secureConnect')
    const shown = socket.getPeerX509Certificate()
    socket.destroy()
    assert.equal(shown?.publicKey.asymmetricKeyType, type)
  }
  const as = ['--home', warder.home, '--cert', `${out}.crt`, '--key', `${out}.key`]
  assert.equal((await run('send', file('rsa.json', create), ...as)).code, 0)
})

function client() {
  const tls = (name: string): string => readFileSync(join(warder.home, 'tls', name), 'utf8')
  const { kmip: place } = JSON.parse(readFileSync(join(warder.home, 'endpoints.json'), 'utf8'))
  return { socket: place, url: undefined, ca: tls('ca.crt'), cert: tls('client.crt'), key: tls('client.key') }
}

test('Started workers answer pipelined requests in order while handshakes hang half-open', async () => {
  const { socket, ca, cert, key } = client()
  const hanging = Array.from({ length: 50 }, () => connectPlain(socket.port, socket.host))
  for (const open of hanging) open.on('error', () => undefined)
  const tls = connect({ ...socket, ca, cert, key, servername: 'localhost' })
  const count = 100
  tls.write(Buffer.concat(Array(count).fill(queryBytes)))
  let received = Buffer.alloc(0)
  let answers = 0
  for await (const part of tls as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, part])
    for (
      let length = frameLength(received);
      length !== undefined && received.length >= length;
      length = frameLength(received)
    ) {
      decodeNode(received.subarray(0, length), 'ttlv')
      received = received.subarray(length)
      answers += 1
    }
    if (answers === count) break
  }
  assert.equal(answers, count)
  for (const open of hanging) open.destroy()
})

test('A certificate of another authority is refused in the handshake of the started service', async () => {
  const stranger = { ...client(), cert: undefined, key: undefined }
  const connection = openConnection(stranger, 'socket')
  await assert.rejects(connection.exchange(decodeNode(queryBytes, 'ttlv')))
  connection.close()
})

test('SIGHUP gives new connections the new certificate, and the old ones go on', async () => {
  const { socket, ca, cert, key } = client()
  const serial = async (): Promise<string> => {
    const tls = connect({ ...socket, ca, cert, key })
    await once(tls, 'secureConnect')
    const { serialNumber } = tls.getPeerCertificate()
    tls.destroy()
    return serialNumber
  }
  const open = openConnection(client(), 'socket')
  await open.exchange(decodeNode(queryBytes, 'ttlv'))
  const before = await serial()
  const tls = (name: string): string => join(warder.home, 'tls', name)
  const issued = await issueCertificate(
    {
      commonName: 'kms',
      purpose: 'server',
      hostnames: ['localhost'],
      addresses: ['127.0.0.1'],
      notBefore: new Date(Date.now() - 3_600_000),
      notAfter: new Date(Date.now() + 60 * 24 * 3_600_000),
    },
    { certificatePem: ca, privateKey: createPrivateKey(readFileSync(tls('ca.key'))) },
  )
  writeFileSync(tls('kms.key'), issued.keyPem)
  writeFileSync(tls('kms.crt'), issued.certificatePem)
  warder.process.kill('SIGHUP')
  let after = before
  // Each worker takes the new one in its own time.
  for (let tries = 0; tries < 500 && after === before; tries++) after = await serial()
  assert.notEqual(after, before)
  assert.equal((await open.exchange(decodeNode(queryBytes, 'ttlv'))).tag, 0x42007b)
  open.close()
})
