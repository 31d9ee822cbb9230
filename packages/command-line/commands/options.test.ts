import assert from 'node:assert/strict'
import { test } from 'node:test'
import { optionsHelp, optionsUsage, readArguments, readKnownOptions, UsageError } from './options.ts'
import { readVerb } from './verbs.ts'

const options = {
  key: { type: 'text', value: 'KEY', required: true, help: 'which key' },
  output: { type: 'text', value: 'OUT', help: 'where to\nwrite' },
  tag: { type: 'list', value: 'T', help: 'a word' },
  limit: { type: 'number', value: 'N', help: 'at most' },
  force: { type: 'flag', help: 'replaces it' },
  inner: { type: 'flag' },
} as const

test('options are read wherever they stand, and the rest are names', () => {
  const { values, names } = readArguments(
    ['a', '--key=k', '--tag', 'x', '-', '--output', '-o', '--tag=y', '--force', '--limit', '07', '--', '--b'],
    options,
  )
  assert.deepEqual(values, {
    key: 'k',
    output: '-o',
    tag: ['x', 'y'],
    limit: 7,
    force: true,
    inner: false,
  })
  assert.deepEqual(names, ['a', '-', '--b'])
})

test('what is wrong is one sentence', () => {
  for (const [args, told] of [
    [[], '--key is required'],
    [['--key='], '--key is required'],
    [['--key'], '--key needs a value'],
    [['--key', 'a', '--key', 'b'], '--key is given twice'],
    [['--key', 'a', '--limit', '-1'], "--limit must be a whole number, not '-1'"],
    [['--key', 'a', '--force=yes'], '--force takes no value'],
    [['--kye', 'a'], 'unknown option: --kye; did you mean --key?'],
    [['--colour', 'a'], 'unknown option: --colour'],
    [['--iner'], 'unknown option: --iner'],
    [['-f'], 'unknown option: -f'],
    [['--constructor'], 'unknown option: --constructor'],
    [['--__proto__=a'], 'unknown option: --__proto__'],
  ] as const) {
    assert.throws(() => readArguments(args, options), { name: 'UsageError', message: told })
  }
})

test('arguments of another reader are kept as they are, in their order', () => {
  const args = ['--port', '0', '--key', 'k', '--roles=a', '-x', '--no-audit', '--force', '--', '--key']
  const { values, rest } = readKnownOptions(args, options)
  assert.deepEqual([values.key, values.force], ['k', true])
  assert.deepEqual(rest, ['--port', '0', '--roles=a', '-x', '--no-audit', '--', '--key'])
})

test('the help shows what is declared', () => {
  assert.equal(optionsUsage(options), '--key KEY [--output OUT] [--tag T]... [--limit N] [--force]')
  assert.equal(
    optionsHelp({ key: options.key, output: options.output, inner: options.inner }),
    '  --key KEY             which key\n  --output OUT          where to\n                        write',
  )
})

test('a verb is found behind the options that are common, and errors name it', () => {
  const verb = { words: '', summary: '', examples: [], options }
  const verbs = [
    { ...verb, name: 'tag add' },
    { ...verb, name: 'list', options: {} },
  ]
  const common = { home: { type: 'text', value: 'DIR', help: 'home' } } as const
  const call = readVerb(verbs, common, ['--home', 'h', '--key', 'tag', 'tag', 'add', 'x'])
  assert.deepEqual([call.verb.name, call.common.home, call.values.key], ['tag add', 'h', 'tag'])
  assert.deepEqual(call.names, ['x'])
  const failing = (args: readonly string[]) => {
    try {
      readVerb(verbs, common, args)
    } catch (error) {
      if (error instanceof UsageError) return [error.message, error.verb]
    }
    return undefined
  }
  assert.deepEqual(failing([]), ['missing verb: tag add or list', undefined])
  assert.deepEqual(failing(['lst']), [
    "there is no verb 'lst'; verbs: tag add, list; did you mean list?",
    undefined,
  ])
  assert.deepEqual(failing(['list', '--key', 'k']), ['unknown option: --key', 'list'])
})

test('an option may have a letter', () => {
  const options = { follow: { type: 'flag', short: 'f' } } as const
  assert.equal(readArguments(['-f'], options).values.follow, true)
  assert.throws(() => readArguments(['-g'], options), { message: 'unknown option: -g' })
})
