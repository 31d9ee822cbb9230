import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { root } from '../bundle/entry-points.ts'

const folder = mkdtempSync(join(tmpdir(), 'warder-launcher-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const prefix = join(folder, 'a prefix')
const app = join(prefix, 'lib', 'warder', 'app', 'bin')
mkdirSync(app, { recursive: true })
mkdirSync(join(prefix, 'bin'))
cpSync(join(root, 'deploy', 'linux', 'warder'), join(prefix, 'bin', 'warder'))
symlinkSync(process.execPath, join(prefix, 'lib', 'warder', 'node'))
const told = '[process.pid, process.argv.slice(2), process.env.WARDER_PROGRAM]'
writeFileSync(join(app, 'warder.mjs'), `process.stdout.write(JSON.stringify(${told}))`)
const link = join(folder, 'warder')
symlinkSync(join(prefix, 'bin', 'warder'), link)

const skip = process.platform === 'linux' ? false : 'the tarballs are for Linux'
const path = '/usr/bin:/bin'

function run(program: string, env: Readonly<Record<string, string>>) {
  const child = spawnSync(program, ['a b', '--c'], { encoding: 'utf8', env })
  assert.equal(child.stderr, '')
  const [pid, ...rest] = JSON.parse(child.stdout) as unknown[]
  assert.equal(pid, child.pid, 'the command is the process that was started, and gets its signals')
  return rest
}

test('the command of a tarball runs from its folder or a link, on its own Node', { skip }, () => {
  const words = ['a b', '--c']
  const program = join(prefix, 'bin', 'warder')
  assert.deepEqual(run(program, { PATH: path }), [words, program])
  assert.deepEqual(run(link, { PATH: `${folder}:${path}`, HOME: '/h' }), [words, 'warder'])
})
