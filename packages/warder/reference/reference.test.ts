import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { commands, loadAll } from '../commands.ts'
import { main } from '../main.ts'
import { missingPrograms } from '../testing/guide.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-reference-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function run(...words: string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    env: {},
  }
  const code = await main(words, terminal)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

test('the overview tells what each command tells of itself', async () => {
  const loaded = await loadAll()
  assert.deepEqual(
    loaded.map(({ name, summary }) => [name, summary]),
    commands.map(({ name, summary }) => [name, summary]),
  )
})

/** Completions of bash for a line whose last word is being typed. */
function completed(script: string, line: string): readonly string[] {
  const words = line.split(' ')
  const program = `source ${script}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_warder; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { status, stdout, stderr } = spawnSync('bash', ['-c', program], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.equal(stderr, '')
  return stdout.split('\n').filter((word) => word !== '')
}

describe('completion', () => {
  test('bash completes commands, verbs and their options', { skip: missingPrograms('bash') }, async () => {
    const script = join(folder, 'warder.bash')
    writeFileSync(script, (await run('completion', 'bash')).out)
    assert.deepEqual(completed(script, 'warder who'), ['whoami'])
    assert.deepEqual(completed(script, 'warder crypto enc'), ['encrypt', 'encrypt-data'])
    assert.deepEqual(completed(script, 'warder crypto encrypt --out'), ['--output'])
    assert.deepEqual(completed(script, 'warder crypto --home /h encrypt file --pol'), ['--policy'])
    assert.deepEqual(completed(script, 'warder keys abe cr'), ['create'])
    assert.deepEqual(completed(script, 'warder keys abe create --us'), ['--user'])
    // The value of an option, and the name of a file, are for the shell.
    assert.deepEqual(completed(script, 'warder crypto encrypt --key '), [])
    assert.deepEqual(completed(script, 'warder crypto encrypt '), [])
    for (const { name, verbs = [] } of await loadAll()) {
      assert.ok(completed(script, `warder ${name}`).includes(name))
      const first = new Set(verbs.map((verb) => verb.name.split(' ')[0]))
      if (first.size > 0) assert.deepEqual(new Set(completed(script, `warder ${name} `)), first)
    }
  })

  for (const shell of ['zsh', 'fish'])
    test(`the script for ${shell} is one that it reads`, { skip: missingPrograms(shell) }, async () => {
      const script = join(folder, `warder.${shell}`)
      writeFileSync(script, (await run('completion', shell)).out)
      const { status, stderr } = spawnSync(shell, ['-n', script], { encoding: 'utf8' })
      assert.deepEqual([status, stderr], [0, ''])
    })

  test('the scripts for zsh and fish name every command and option, and close every quote', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { out } = await run('completion', shell)
      for (const { name } of commands) assert.ok(out.includes(name))
      for (const option of ['policy', 'token-file', 'secret-id-file']) assert.ok(out.includes(option))
      for (const line of out.split('\n')) {
        const quotes = line.replaceAll(shell === 'zsh' ? "'\\''" : "\\'", '').match(/'/g)?.length ?? 0
        assert.equal(quotes % 2, 0, line)
      }
    }
  })

  test('another shell, and none, are a wrong call', async () => {
    assert.match((await run('completion', 'csh')).err, /the shell must be bash, zsh or fish, not 'csh'/)
    assert.equal((await run('completion')).code, 2)
    assert.equal((await run('completion', 'constructor')).code, 2)
  })
})

/** Bold is a letter, a step back, and the letter again. */
function withoutBold(text: string): string {
  return text
    .split('\b')
    .map((part, index, parts) => (index < parts.length - 1 ? part.slice(0, -1) : part))
    .join('')
}

describe('manual pages', () => {
  test('are written for every command, and render without a warning', {
    skip: missingPrograms('groff'),
  }, async () => {
    const pages = join(folder, 'man1')
    assert.match((await run('man', '--dir', pages)).out, /^\d+ pages written into /)
    const files = readdirSync(pages)
    assert.equal(files.length, commands.length + 1)
    for (const file of files) {
      const words = ['-man', '-Tutf8', '-ww', '-P-c', join(pages, file)]
      const { status, stdout, stderr } = spawnSync('groff', words, { encoding: 'utf8' })
      assert.deepEqual([status, stderr], [0, ''], file)
      const text = withoutBold(stdout)
      assert.match(text, /^NAME$/m)
      assert.match(text, new RegExp(file.replace(/\.1$/, '').replaceAll('-', '.')))
    }
    const words = ['-man', '-Tascii', '-P-c', join(pages, 'warder-crypto.1')]
    const crypto = withoutBold(spawnSync('groff', words, { encoding: 'utf8' }).stdout)
    assert.match(crypto, /warder crypto encrypt\s+FILE\s+--key KEY/)
    assert.match(crypto, /--policy POLICY/)
    assert.match(crypto, /set -o pipefail; warder crypto decrypt - < docs\.tar\.warder/)
    assert.match(crypto, /Team::blue\s+&&\s+Level::low/)
  })

  test('one is printed; of an unknown command none', async () => {
    assert.match((await run('man', 'keys')).out, /^\.TH WARDER\\-KEYS 1 /)
    assert.match((await run('man')).out, /^\.TH WARDER 1 /)
    assert.equal((await run('man', 'fly')).code, 2)
    assert.match((await run('man', '--dir', '/dev/null/no')).err, /^warder man: .*not a directory/)
  })
})

test('--no-color stands anywhere, and is a name behind --', async () => {
  assert.equal((await run('--no-color', 'help', 'keys')).out, (await run('keys', '--help')).out)
  assert.match((await run('try', '--', '--no-color')).err, /unknown argument: --no-color/)
})

test('help takes the names of a command and a verb', async () => {
  assert.equal((await run('help', 'crypto', 'sign')).out, (await run('crypto', 'sign', '--help')).out)
  assert.match(
    (await run('help', 'crypto', 'sing')).err,
    /there is no verb 'sing', did you mean sign\?; see warder crypto/,
  )
  assert.match((await run('help', 'kyes')).err, /there is no command 'kyes'; .* did you mean keys\?$/)
  assert.equal((await run('help', 'kyes')).code, 2)
})
