import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { main } from './main.ts'

async function run(...args: string[]) {
  const out: string[] = []
  const err: string[] = []
  const code = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {},
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** Names of the commands, as the overview lists them. */
async function commands(): Promise<readonly string[]> {
  const { out } = await run('--help')
  return [...out.matchAll(/^ {2}([a-z-]+) {2,}[A-Z]/gm)].map((match) => match[1] ?? '')
}

test('every command of the overview is in the list of commands, and teaches itself with an example', async () => {
  const page = readFileSync(new URL('../../docs/reference/commands.md', import.meta.url), 'utf8')
  const names = await commands()
  assert.ok(names.length >= 11, names.join())
  for (const name of names) {
    assert.ok(page.includes(`\`warder ${name}`), `warder ${name} is not in docs/reference/commands.md`)
    for (const words of [
      [name, '--help'],
      ['help', name],
    ]) {
      const { code, out } = await run(...words)
      assert.equal(code, 0)
      assert.match(out, new RegExp(`^warder ${name}\\b`))
      assert.match(out, /^Examples?:$/m, `warder ${name} --help shows no example`)
    }
  }
})

test('the help of every verb is its own, with examples that call it', async () => {
  for (const name of [
    'keys',
    'crypto',
    'access',
    'external',
    'kmip',
    'admin',
    'context',
    'audit',
    'root-key',
    'config',
  ]) {
    const { out } = await run(name, '--help')
    const verbs = [
      ...out.matchAll(/^ {2}((?:abe |group |hsm |recovery |version )?[a-z-]+)( .*)?\n {6}[A-Z]/gm),
    ].map((match) => match[1] ?? '')
    assert.ok(verbs.length >= (name === 'root-key' ? 1 : 2), `${name}: ${verbs}`)
    for (const verb of verbs) {
      const help = (await run(name, ...verb.split(' '), '--help')).out
      assert.ok(help.startsWith(`warder ${name} ${verb}`), verb)
      const example = help.slice(help.indexOf('\nExample:'))
      assert.ok(example.includes(`warder ${name} ${verb}`), `${name} ${verb}`)
      for (const line of help.split('\n')) assert.ok(line.length <= 120 || line.includes(' explain 42'), line)
    }
  }
})

test('what was called wrongly ends with code 2 and one line that says where to read on', async () => {
  for (const [words, told] of [
    [['fly'], /^warder: there is no command 'fly'; commands: start, /],
    [['keys', 'create'], /see warder keys create --help$/],
    [['keys', 'fly'], /see warder keys --help$/],
    [['keys', 'fly', '--help'], /^warder keys: there is no verb 'fly'; see warder keys --help$/],
    [
      ['audit'],
      /^warder audit: missing verb: find, count, forget-node, verify, export, tail, archive or prune; see warder audit --help$/,
    ],
    [['audit', 'export', '--format', 'xml'], /--format must be json or cef/],
    [['audit', 'export', '--since', 'yesterday'], /--since must be a time like/],
    [['config', 'print', 'fly'], /name the service: auth or kms/],
    [['kyes'], /^warder: there is no command 'kyes'; commands: start, .*; did you mean keys\?$/],
    [['start', '--hme', 'x'], /unknown option: --hme; did you mean --home\? \(see warder start --help\)$/],
    [['crypto', 'sing'], /there is no verb 'sing'; .*did you mean sign\? \(see warder crypto --help\)$/],
    [['crypto', 'sign', 'f', '--kye', 'k'], /did you mean --key\? \(see warder crypto sign --help\)$/],
    [['audit', 'verify', '--format', 'cef'], /unknown option: --format; see warder audit verify --help$/],
    [['kmip', 'query', '--as', 'x', '--as', 'y'], /--as is given twice; see warder kmip query --help$/],
    [['try', '--file'], /--file needs a value; see warder try --help$/],
  ] as const) {
    const { code, out, err } = await run(...words)
    assert.deepEqual([code, out], [2, ''], words.join(' '))
    assert.match(err, told)
    assert.ok(!err.includes('\n'))
  }
})
