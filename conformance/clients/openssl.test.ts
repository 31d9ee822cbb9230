import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { decodeNode, encodeNode, frameLength, Tag, type TtlvNode } from '@warder/kmip-codec'
import { startOwnServer, type TestServer } from '../server/own-server.ts'
import { type ClientFiles, clientFiles } from './client-files.ts'
import { canRun, runProgram } from './run-program.ts'

const skip = canRun('openssl', ['version']) ? false : 'the openssl command is not here'

let server: TestServer
let files: ClientFiles
let place: string
before(async () => {
  if (skip !== false) return
  server = await startOwnServer()
  const endpoint = await server.as('openssl')
  files = clientFiles(endpoint)
  place = `${endpoint.socket?.host}:${endpoint.socket?.port}`
})
after(async () => {
  if (skip !== false) return
  files[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

const query = `<RequestMessage><RequestHeader><ProtocolVersion><ProtocolVersionMajor type="Integer" value="2"/><ProtocolVersionMinor type="Integer" value="1"/></ProtocolVersion><BatchCount type="Integer" value="1"/></RequestHeader><BatchItem><Operation type="Enumeration" value="Query"/><RequestPayload><QueryFunction type="Enumeration" value="QueryOperations"/></RequestPayload></BatchItem></RequestMessage>`
const input = encodeNode(decodeNode(Buffer.from(query), 'xml'), 'ttlv')

function isWhole(out: Buffer): boolean {
  const length = frameLength(out)
  return length !== undefined && out.length >= length
}

interface Talk {
  readonly code: number | null
  readonly answer: TtlvNode | undefined
}

/** A Query through `openssl s_client` with these options. */
async function talk(...options: readonly string[]): Promise<Talk> {
  const trust = ['-connect', place, '-servername', 'localhost', '-CAfile', files.ca, '-verify_return_error']
  // Output is written as it is, the first byte is no command, and the end of the input ends the connection.
  const { code, out } = await runProgram(
    'openssl',
    ['s_client', ...trust, '-quiet', '-no_ign_eof', '-nocommands', ...options],
    {
      input,
      until: isWhole,
    },
  )
  return { code, answer: out.length === 0 ? undefined : decodeNode(out, 'ttlv') }
}

const identity = (): readonly string[] => ['-cert', files.cert, '-key', files.key]

for (const [version, ...suites] of [
  ['-tls1_3', '-ciphersuites', 'TLS_AES_256_GCM_SHA384'],
  ['-tls1_3', '-ciphersuites', 'TLS_CHACHA20_POLY1305_SHA256'],
  ['-tls1_2', '-cipher', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ['-tls1_2', '-cipher', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  // Clients that know RSA alone.
  ['-tls1_2', '-cipher', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ['-tls1_2', '-cipher', 'ECDHE-RSA-AES128-GCM-SHA256'],
] as const) {
  test(`The TLS profile of KMIP: ${version} with ${suites[1]} and a client certificate`, {
    skip,
  }, async () => {
    const { answer } = await talk(version, ...suites, ...identity())
    assert.equal(answer?.tag, Tag.ResponseMessage)
  })
}

test('Older TLS, weak suites and clients without a certificate get nowhere', { skip }, async () => {
  const refused: readonly (readonly string[])[] = [
    ['-tls1_1', '-cipher', 'DEFAULT:@SECLEVEL=0', ...identity()],
    ['-tls1_2', '-cipher', 'ECDHE-ECDSA-AES256-SHA:@SECLEVEL=0', ...identity()],
    ['-tls1_2', '-cipher', 'NULL:@SECLEVEL=0', ...identity()],
    // No forward secrecy.
    ['-tls1_2', '-cipher', 'AES256-GCM-SHA384', ...identity()],
    ['-tls1_2'],
    ['-tls1_3'],
  ]
  for (const options of refused) {
    const { code, answer } = await talk(...options)
    assert.equal(answer, undefined, options.join(' '))
    assert.notEqual(code, 0, options.join(' '))
  }
})

test('A TLS 1.2 session resumes with its ticket', { skip }, async () => {
  const session = `${files.folder}/session.pem`
  assert.ok((await talk('-tls1_2', ...identity(), '-sess_out', session)).answer)
  const args = [
    's_client',
    '-connect',
    place,
    '-CAfile',
    files.ca,
    '-tls1_2',
    ...identity(),
    '-sess_in',
    session,
  ]
  const { out } = await runProgram('openssl', args)
  assert.match(out.toString('utf8'), /Reused, TLSv1\.2/)
})
