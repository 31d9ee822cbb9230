import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { computeFingerprint } from '../installation/signing-key.ts'
import { type BackedUp, backedUp } from '../testing/backed-up.ts'
import { runWarder } from '../testing/installation.ts'
import { collect } from './collect.ts'
import { type BackupLine, compressLines } from './lines.ts'
import { sealStream } from './sealed-stream.ts'

// A public key is public, so that everyone can make a backup for it.

let there: BackedUp
let officer: readonly string[]
let toOfficer: ReturnType<typeof createPublicKey>

before(async () => {
  there = await backedUp()
  const pair = generateKeyPairSync('x25519')
  toOfficer = pair.publicKey
  const file = join(there.room, 'officer.key')
  writeFileSync(file, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  officer = ['--key', file]
})
after(() => there?.stop())

/** Backup of the installation with other settings, made by someone who has a key of their own. */
async function forged(
  name: string,
  change: (path: string, text: string) => string,
  signer = generateKeyPairSync('ed25519').privateKey,
): Promise<{ readonly file: string; readonly sender: string }> {
  const { room, source } = there
  async function* lines(): AsyncGenerator<BackupLine> {
    const options = { home: source.home, env: {}, rootKey: false, audit: false, now: Date.now() }
    for await (const line of collect(options)) {
      if (line.kind !== 'file') yield line
      else {
        const text = change(line.path, Buffer.from(line.data, 'base64').toString())
        yield /\.toml$/.test(line.path) ? { ...line, data: Buffer.from(text).toString('base64') } : line
      }
    }
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of sealStream(compressLines(lines()), { publicKeys: [toOfficer] }, signer))
    chunks.push(chunk)
  const file = join(room, `${name}.bak`)
  writeFileSync(file, Buffer.concat(chunks))
  return { file, sender: computeFingerprint(createPublicKey(signer)) }
}

const asItIs = (_path: string, text: string): string => text
const own = () => createPrivateKey(readFileSync(join(there.source.home, 'backup-signing.key')))
const at = (name: string) => join(there.room, name)

test('a backup by a stranger is refused by restore and drill, whatever opens it', async () => {
  const { source, run } = there
  const { file, sender } = await forged('stranger', asItIs)
  const home = at('by-stranger')
  for (const words of [[], ['--accept-new-sender'], ['--from', join(source.home, 'backup-signing.pub')]]) {
    const refused = await run('restore', file, '--home', home, ...words, ...officer)
    assert.deepEqual([refused.code, existsSync(home)], [1, false])
    assert.ok(refused.err.includes(`the backup is signed by ${sender}`), refused.err)
  }
  for (const words of [[], ['--accept-new-sender']]) {
    const drilled = await run('drill', file, '--home', source.home, ...words, ...officer)
    assert.equal(drilled.code, 1)
    assert.match(drilled.err, /is not a known sender: .* --from SHA256:/)
  }
})

test('the first sender is accepted by a flag alone where nobody can be asked, and remembered; others are not', async () => {
  const { nightly, source, secret } = there
  const config = at('other-account')
  const apart = (...words: readonly string[]) => runWarder(words, { XDG_CONFIG_HOME: config })
  const refused = await apart('restore', nightly, '--home', at('first'), ...secret)
  assert.match(refused.err, /no sender is known yet: .* --from SHA256:[\w-]{43}; --accept-new-sender trusts/)
  assert.ok(!existsSync(at('first')) && !existsSync(config))
  const first = await apart('restore', nightly, '--home', at('first'), '--accept-new-sender', ...secret)
  assert.equal(first.code, 0, first.err)
  const known = readFileSync(join(config, 'warder', 'backup-senders'), 'utf8')
  assert.equal(known, `${computeFingerprint(createPublicKey(own()))}\n`)
  const second = await apart('restore', nightly, '--home', at('second'), ...secret)
  assert.equal(second.code, 0, second.err)
  const { file, sender } = await forged('later', asItIs)
  const words = ['restore', file, '--home', at('third'), ...officer]
  assert.match((await apart(...words, '--accept-new-sender')).err, /is not a known sender/)
  assert.equal((await apart(...words, '--from', sender)).code, 0)
  assert.ok(existsSync(join(source.home, 'backup-signing.pub')))
})

test('an unsigned backup of an earlier version is restored by a flag alone, which says what is at risk', async () => {
  const { secret, run, source } = there
  const file = fileURLToPath(new URL('fixtures/unsigned.backup', import.meta.url))
  const from = ['--from', join(source.home, 'backup-signing.pub')]
  for (const words of [[], ['--accept-new-sender'], from]) {
    const refused = await run('restore', file, '--home', at('unsigned'), ...words, ...secret)
    assert.deepEqual([refused.code, existsSync(at('unsigned'))], [1, false])
    assert.match(refused.err, /is not signed: .* chose its settings, users and rights.*--accept-unsigned/)
  }
  const both = await run('restore', file, '--home', at('unsigned'), ...from, '--accept-unsigned', ...secret)
  assert.match(both.err, /--accept-unsigned excludes --from/)
  const taken = await run('restore', file, '--home', at('unsigned'), '--accept-unsigned', ...secret)
  assert.equal(taken.code, 0, taken.err)
  assert.match(taken.out, /the backup is not signed; --accept-unsigned accepted it/)
})

test('no byte of a signed backup can be changed by a recipient, nor its signatures taken off', async () => {
  const { nightly, secret, run } = there
  const bytes = readFileSync(nightly)
  const line = bytes.indexOf(10)
  const header = JSON.parse(bytes.subarray(0, line).toString())
  const withHeader = (changes: object, rest: Buffer) =>
    Buffer.concat([Buffer.from(`${JSON.stringify({ ...header, ...changes })}\n`), rest])
  const rest = bytes.subarray(line + 1)
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' })
  const flipped = Buffer.from(bytes)
  flipped.writeUInt8(flipped.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  const cases = {
    'without signatures': withHeader({ version: 1, sender: undefined }, rest),
    'of another sender': withHeader({ sender: other.toString('base64url') }, rest),
    'with fewer recipients': withHeader({ keys: header.keys.slice(-1) }, rest),
    'with another signature at its end': flipped,
    'cut at its end': bytes.subarray(0, -64),
  }
  for (const [what, changed] of Object.entries(cases)) {
    const file = at('changed.bak')
    writeFileSync(file, changed)
    for (const words of [[], ['--accept-unsigned']]) {
      const refused = await run('restore', file, '--home', at('changed'), ...words, ...secret)
      assert.deepEqual([refused.code, existsSync(at('changed'))], [1, false], `${what}: ${refused.err}`)
    }
  }
})

test('databases outside of the home take a flag, however the settings in the backup write them', async () => {
  const { run } = there
  mkdirSync(at('elsewhere'))
  const outside = at('elsewhere/kms.db')
  const forms = [
    `database_url = "sqlite:${outside}"`,
    `"database_url" = "sqlite:${outside}"`,
    `'database_url' = "sqlite:${outside}"`,
    `"database\\u005furl" = "sqlite:${outside}"`,
    'database_url = "sqlite:../elsewhere/kms.db"',
    'database_url = "sqlite:../../elsewhere/kms.db"',
    'database_url = "postgresql://warder@127.0.0.1:1/warder"',
    `[db]\nsqlite_path = "${at('elsewhere')}"`,
  ]
  for (const form of forms) {
    const { file } = await forged(
      'outside',
      (path, text) => (path === 'kms.toml' ? `${form}\n` : text),
      own(),
    )
    const refused = await run('restore', file, '--home', at('outside'), ...officer)
    assert.equal(refused.code, 1, form)
    assert.match(
      refused.err,
      /put the database of kms outside the home .* --kms-database.* --outside-home/,
      form,
    )
    assert.deepEqual([existsSync(at('outside')), readdirSync(at('elsewhere'))], [false, []], form)
  }
  const { file } = await forged(
    'outside',
    (path, text) => (path === 'kms.toml' ? `${forms[1]}\n` : text),
    own(),
  )
  const allowed = await run('restore', file, '--home', at('outside'), '--outside-home', ...officer)
  assert.equal(allowed.code, 0, allowed.err)
  assert.deepEqual(readdirSync(at('elsewhere')), ['kms.db'])
})

test('a drill asks no address and sends no file that the settings in a backup name, however they are written', async () => {
  const { source, run } = there
  let calls = 0
  const listener = createServer((socket) => {
    calls += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  assert.ok(address !== null && typeof address === 'object')
  const url = `https://127.0.0.1:${address.port}/`
  const key = join(source.home, 'root.key')
  const settings = [
    `"audit_collector_url" = "${url}"`,
    `'audit_collector_token_file' = "${key}"`,
    `"otlp\\u005fendpoint" = "${url}"`,
    `audit_syslog = """127.0.0.1:${address.port}"""`,
    'outbound_allow_private_networks = true',
    `"root_key_file" = "${at('made-by-drill')}"`,
    '"metrics_port" = 1',
  ].join('\n')
  const { file } = await forged(
    'telling',
    (path, text) => (/\.toml$/.test(path) ? `${text}\n${settings}` : text),
    own(),
  )
  const drilled = await run('drill', file, '--home', source.home, ...officer)
  listener.close()
  assert.equal(drilled.code, 0, drilled.err + drilled.out)
  assert.deepEqual([calls, existsSync(at('made-by-drill'))], [0, false])
})
