import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { listModules } from './test-groups.ts'

test('properties draw from the seed of the run, unless it is asked for new ones', () => {
  const asked = process.env.WARDER_TEST_SEED ?? '20261123'
  const expected = asked === 'random' ? undefined : Number(asked)
  assert.equal(fc.readConfigureGlobal().seed, expected)
})

test('files that share a process draw from it, too', { skip: process.env.WARDER_TEST_NESTED === '1' }, () => {
  const file = fileURLToPath(import.meta.url)
  const { modules, remove } = listModules([[file, file]], '/')
  try {
    const words = ['--import', new URL('fixed-seed.mjs', import.meta.url).href, ...modules]
    const env = { ...process.env, WARDER_TEST_SEED: '77', WARDER_TEST_NESTED: '1', NODE_TEST_CONTEXT: '' }
    const { status, stdout } = spawnSync(process.execPath, words, { env, encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  } finally {
    remove()
  }
})
