import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { artifact } from './built.ts'

const file = artifact(`-linux-${process.arch}.tar.gz`)

function missing(): string | false {
  if ('missing' in file) return file.missing
  const mounts = ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']
  return spawnSync('unshare', mounts).status === 0 ? false : 'this needs root, to mount a throw-away root'
}

test('what is in the image runs as process 1 of a root that it cannot write', { skip: missing() }, () => {
  assert.ok(!('missing' in file))
  const script = fileURLToPath(new URL('container.sh', import.meta.url))
  const { status, stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', script, file.file], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout + stderr)
  assert.deepEqual(stdout.match(/^ok: .*$/gm), [
    'ok: runs as process 1 on a read-only root',
    'ok: stops in order at SIGTERM',
  ])
})
