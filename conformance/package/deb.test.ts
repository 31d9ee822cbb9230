import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { artifact } from './built.ts'

const file = artifact(`_${process.arch === 'x64' ? 'amd64' : process.arch}.deb`)
const inNamespaces = ['--mount', '--pid', '--fork', '--kill-child']

function missing(): string | false {
  if ('missing' in file) return file.missing
  if (spawnSync('dpkg', ['--version']).status !== 0) return 'dpkg is not here'
  const mounts = ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']
  return spawnSync('unshare', mounts).status === 0 ? false : 'this needs root, to mount a throw-away root'
}

test('the Debian package is installed, runs, is upgraded, removed and purged', { skip: missing() }, () => {
  assert.ok(!('missing' in file))
  const script = fileURLToPath(new URL('deb-install.sh', import.meta.url))
  const { status, stdout, stderr } = spawnSync('unshare', [...inNamespaces, 'sh', script, file.file], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout + stderr)
  assert.deepEqual(stdout.match(/^(ok: .*|all \d+ steps passed)$/gm), [
    'ok: installed, and nothing is started',
    'all 21 steps passed',
    'ok: runs as its user',
    'ok: an upgrade leaves keys and settings alone',
    'ok: a removal leaves keys and settings alone',
    'ok: a purge asks, keeps the keys without an answer, and empties a home that is a file system of its own',
    'ok: a purge removes the home, and neither backups nor what others made',
  ])
})
