import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment, startInstallation } from '../testing/index.ts'

const guide = readFileSync(new URL('../../../docs/guides/files.md', import.meta.url), 'utf8')
const entry = fileURLToPath(new URL('../bin/warder.mjs', import.meta.url))
const hasShell = spawnSync('sh', ['-c', 'command -v cut && command -v sed']).status === 0

function shell(
  script: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly status: number | null; readonly text: string }> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-eu'], { cwd, env: cleanEnvironment(env) })
    let text = ''
    const collect = (chunk: Buffer): void => {
      text += chunk.toString()
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('close', (status) => resolve({ status, text }))
    child.stdin.end(script)
  })
}

test('the commands of the guide to files work, in their order', {
  skip: hasShell ? false : 'no sh, cut or sed',
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'warder-guide-'))
  const warder = await startInstallation()
  try {
    const command = join(folder, 'warder')
    writeFileSync(command, `#!/bin/sh\nexec "${process.execPath}" "${entry}" "$@"\n`)
    chmodSync(command, 0o700)
    const [first = '', ...rest] = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
    assert.match(first, /^alias warder=/)
    assert.ok(rest.length >= 8)
    const { status, text } = await shell(rest.join('\n'), folder, {
      WARDER_HOME: warder.home,
      PATH: `${folder}:${process.env.PATH}`,
    })
    assert.equal(status, 0, text)
    for (const expected of [
      /^tags +reports$/m,
      /^refused: bob has no right on the key$/m,
      /^bob may now: decrypt/m,
      /^USER +MAY\nbob +decrypt$/m,
      /^[0-9a-f-]{36} +admin +Active +decrypt$/m,
      /^report\.txt {2}valid, signed by key /m,
      /^a token/m,
      /^gone for ever$/m,
    ]) {
      assert.match(text, expected)
    }
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
    assert.equal(read('report.txt'), 'figures of the third quarter\n')
    assert.equal(read('for-bob.txt'), 'figures of the third quarter\n')
    assert.equal(read('read-by-admin.txt'), 'to the boss\n')
    assert.ok(!existsSync(join(folder, 'again.txt')))
  } finally {
    await warder.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
