import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { type BackedUp, backedUp } from '../testing/backed-up.ts'
import { cleanEnvironment } from '../testing/installation.ts'
import { program } from '../testing/program.ts'

let there: BackedUp

function keysOf(path: string): readonly string[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return db
      .prepare('SELECT id FROM managed_object')
      .all()
      .map(({ id }) => String(id))
  } finally {
    db.close()
  }
}

before(async () => {
  there = await backedUp()
})
after(() => there?.stop())

/** Runs a command in a process of its own. */
async function runApart(
  words: readonly string[],
  { stdout = 'pipe', killAfterMs }: { readonly stdout?: 'pipe' | number; readonly killAfterMs?: number } = {},
) {
  const child = spawn(process.execPath, [program, ...words], {
    env: cleanEnvironment({}),
    stdio: ['ignore', stdout, 'pipe'],
  })
  const out: Buffer[] = []
  let err = ''
  child.stdout?.on('data', (bytes: Buffer) => out.push(bytes))
  child.stderr?.on('data', (text) => {
    err += text
  })
  const ended = once(child, 'close')
  if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  await ended
  return { code: child.exitCode, out: Buffer.concat(out), err }
}

test('a backup of a running installation holds no root key and nothing in clear', async () => {
  const { room, source, nightly, kid, secret, run } = there
  assert.equal(statSync(nightly).mode & 0o777, 0o600)
  const bytes = readFileSync(nightly)
  assert.ok(!bytes.includes(kid) && !bytes.includes('admin'))
  assert.ok(!readdirSync(room).some((name) => name.endsWith('.part')))
  const again = await run('backup', nightly, '--home', source.home, ...secret)
  assert.match(again.err, /already exists, and a backup overwrites nothing/)
})

test('a backup into a pipe is whole, and one that is not taken is no backup', async () => {
  const { room, source, secret, run } = there
  const noted = join(source.home, 'backup.json')
  rmSync(noted, { force: true })
  const words = ['backup', '-', '--home', source.home, ...secret]
  const full = await runApart(words, { stdout: openSync('/dev/full', 'w') })
  assert.deepEqual([full.code, existsSync(noted)], [1, false])
  assert.match(full.err, /standard output was closed .*: the sent backup is incomplete/)
  const spool = join(room, 'tonight.bak')
  const sent = await runApart([...words, '--spool', spool])
  assert.deepEqual([sent.code, existsSync(noted)], [0, true], sent.err)
  assert.ok(sent.out.equals(readFileSync(spool)))
  const rest = await runApart([...words, '--spool', spool, '--from', '1000'])
  assert.ok(rest.out.equals(sent.out.subarray(1000)))
  for (const [from, reason] of [
    [String(sent.out.length + 1), /the other side .*: that is another backup/],
    ['1e3', /takes a number of bytes/],
  ] as const)
    assert.match((await run(...words, '--spool', spool, '--from', from)).err, reason)
  const gone = await run(...words, '--spool', `${spool}.gone`, '--from', '1000')
  assert.match(gone.err, /does not exist: .* start a new one/)
  assert.match((await run(...words, '--spool', spool)).err, /already exists/)
})

test('a backup that has a spool is copied on to its place after an interruption, as it was', async () => {
  const { room, source, secret, run } = there
  const [file, spool] = [join(room, 'far.bak'), join(room, 'near.bak')]
  const noted = join(source.home, 'backup.json')
  // Another program has the name that the file has on the way.
  mkdirSync(`${file}.arriving`)
  const words = ['backup', file, '--home', source.home, '--spool', spool]
  const failed = await run(...words, ...secret)
  assert.deepEqual([failed.code, existsSync(file), existsSync(spool)], [1, false, true])
  assert.match(failed.err, /near\.bak is complete: --continue resumes the copy to /)
  rmSync(`${file}.arriving`, { recursive: true })
  rmSync(noted)
  assert.match((await run(...words, ...secret)).err, /already exists: resume it with --continue/)
  const whole = readFileSync(spool)
  writeFileSync(`${file}.arriving`, Buffer.concat([whole.subarray(0, 1000), Buffer.alloc(99_999)]))
  const goneOn = await run(...words, '--continue')
  assert.equal(goneOn.code, 0, goneOn.err)
  assert.ok(readFileSync(file).equals(whole))
  assert.deepEqual(
    [existsSync(spool), existsSync(`${file}.arriving`), existsSync(noted)],
    [false, false, true],
  )
  assert.match((await run(...words, '--continue')).err, /far\.bak already exists/)
  for (const [wrong, reason] of [
    [['backup', '-', '--spool', spool, '--continue'], /--continue needs --spool and a file/],
    [['backup', file, '--continue'], /--continue needs --spool and a file/],
    [['backup', file, '--spool', spool, '--from', '0'], /--from needs standard output/],
  ] as const)
    assert.match((await run(...wrong, ...secret)).err, reason)
})

test('a backup into the home that it copies is refused', async () => {
  const { source, secret, run } = there
  const refused = await run('backup', join(source.home, 'a.backup'), '--home', source.home, ...secret)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /is inside the home that is backed up/)
})

test('a backup that is killed leaves nothing that the next one does not remove', async () => {
  const { room, source, secret, run } = there
  const others = join(room, 'somebody.host-1.part')
  writeFileSync(others, 'of another program')
  const rounds = Number(process.env.WARDER_KILL_ROUNDS ?? 2)
  for (let round = 0; round < rounds; round += 1) {
    const file = join(room, `killed-${round}.bak`)
    const words = ['backup', file, '--home', source.home, ...secret]
    await runApart(words, { killAfterMs: 300 + ((round * 977) % 1200) })
    if (existsSync(file))
      assert.equal(
        (await run('restore', file, '--home', join(room, `of-killed-${round}`), ...secret)).code,
        0,
      )
  }
  assert.equal((await run('backup', join(room, 'last.bak'), '--home', source.home, ...secret)).code, 0)
  assert.deepEqual(
    readdirSync(room).filter((name) => name.endsWith('.part')),
    ['somebody.host-1.part'],
  )
})

test('a backup with a spool that is killed is begun anew before the spool is whole, and goes on behind it', async () => {
  const { room, source, secret, run } = there
  const rounds = Number(process.env.WARDER_KILL_ROUNDS ?? 2)
  for (let round = 0; round < rounds; round += 1) {
    const [file, spool] = [join(room, `far-${round}.bak`), join(room, `near-${round}.bak`)]
    const words = ['backup', file, '--home', source.home, '--spool', spool, ...secret]
    await runApart(words, { killAfterMs: 500 + ((round * 977) % 1200) })
    const following = existsSync(spool) ? [...words, '--continue'] : words
    if (!existsSync(file)) assert.equal((await run(...following)).code, 0)
    // Killed between the last two steps, it leaves the spool: it may be removed.
    rmSync(spool, { force: true })
    const home = join(room, `of-far-${round}`)
    assert.equal((await run('restore', file, '--home', home, ...secret)).code, 0)
    assert.deepEqual(
      readdirSync(room).filter((name) => /^(far|near)-.*\.(part|arriving)$/.test(name)),
      [],
    )
  }
})

test('a backup under load has every key that was acknowledged before it, the log tells the others, and a drill opens them all', async () => {
  const { room, source, nightly, secret, run } = there
  const client = source.client('kms')
  const headers = { authorization: `Bearer ${await source.adminToken()}` }
  const ask = async (path: string, json: unknown): Promise<Readonly<Record<string, string>>> => {
    const { status, text } = await client.ask(path, { json, headers })
    assert.ok(status < 300, text)
    return JSON.parse(text)
  }
  const before = new Set<string>()
  const all = new Set<string>()
  let isBefore = true
  let stopping = false
  const load = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!stopping) {
        const { kid = '' } = await ask('/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
        if (isBefore) before.add(kid)
        all.add(kid)
        const { kid: next = '' } = await ask(`/v1/crypto/keys/${kid}/rotate`, {})
        if (isBefore) before.add(next)
        all.add(next)
      }
    }),
  )
  while (before.size < 40) await new Promise((resolve) => setTimeout(resolve, 5))
  isBefore = false
  const file = join(room, 'under-load.bak')
  const made = await run('backup', file, '--home', source.home, ...secret)
  stopping = true
  await load
  client.close()
  assert.equal(made.code, 0, made.err)
  const home = join(room, 'under-load')
  const surviving = ['--surviving-audit', join(source.home, 'audit')]
  const restored = await run('restore', file, '--home', home, ...surviving, ...secret)
  assert.equal(restored.code, 0, restored.err)
  const found = new Set(keysOf(join(home, 'kms.db')))
  assert.deepEqual(
    [...before].filter((kid) => !found.has(kid)),
    [],
  )
  const lost = [...all].filter((kid) => !found.has(kid)).length
  const told = [...restored.out.matchAll(/keys\.(?:create|rotate) (\d+)/g)].map(([, count]) => Number(count))
  assert.ok(told.reduce((sum, count) => sum + count, 0) >= lost, `${restored.out}, and ${lost} are lost`)
  rmSync(nightly)
  renameSync(file, nightly)
  const passwordFile = join(room, 'password')
  writeFileSync(passwordFile, source.password)
  const login = ['--user', 'admin', '--password-file', passwordFile]
  const drilled = await run('drill', room, '--home', source.home, ...secret, ...login)
  assert.equal(drilled.code, 0, drilled.err + drilled.out)
  assert.match(
    drilled.out,
    /keys {8}\d+ decrypted\n[\s\S]*admin logged in and used keys[\s\S]*chain {7}intact/,
  )
  assert.ok(existsSync(join(source.home, 'drill.json')) && existsSync(join(source.home, 'backup.json')))
})
