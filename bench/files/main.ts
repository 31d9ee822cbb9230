// File encryption beside age, and signatures beside hashing: node_modules/.bin/node bench/files/main.ts [--mib 1024] [--age PROGRAM]
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, rmSync, writeSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startInstallation } from 'warder/testing'

interface Run {
  readonly seconds: number
  /** Processor time of the program and its child processes. */
  readonly cpuSeconds: number
}

const { values } = parseArgs({
  options: {
    mib: { type: 'string', default: '1024' },
    rounds: { type: 'string', default: '5' },
    age: { type: 'string', default: 'age' },
  },
})
const mib = Number(values.mib)
const rounds = Number(values.rounds)
const entry = join(import.meta.dirname, '..', '..', 'packages', 'warder', 'bin', 'warder.mjs')
const hasAge = spawnSync(values.age, ['--version']).status === 0
const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Runs a program under bash's `time`, whose figures count its children, too. */
function measureCommand(command: string): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', `TIMEFORMAT='%R %U %S'; time { ${command}; }`], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', (text) => {
      errors += text
    })
    child.once('close', (code) => {
      const [seconds = 0, user = 0, system = 0] =
        errors.trim().split('\n').at(-1)?.split(' ').map(Number) ?? []
      if (code === 0) resolve({ seconds, cpuSeconds: user + system })
      else reject(new Error(errors))
    })
  })
}

/** Suffixes of the files that the subjects make. */
const made: Readonly<Record<string, string>> = {
  'warder encrypt': '.warder',
  'warder decrypt': '.out',
  'age encrypt': '.age',
  'age encrypt, on disk': '.age',
  'age decrypt': '.out',
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

const warder = await startInstallation()
const file = join(tmpdir(), `bench-${process.pid}`)
const remove = (): void => {
  for (const end of ['', '.warder', '.age', '.out', '.sig', '.age.key'])
    rmSync(`${file}${end}`, { force: true })
}
try {
  const out = openSync(file, 'w', 0o600)
  for (let index = 0; index < mib; index += 1) writeSync(out, randomBytes(1024 * 1024))
  closeSync(out)
  const run = `${process.execPath} ${entry}`
  const home = `--home ${warder.home}`
  const kid = (words: string) =>
    spawnSync('sh', ['-c', `${run} keys create ${words} ${home}`], { encoding: 'utf8' }).stdout.split(
      ' ',
    )[0] ?? ''
  const [key, pair] = [kid('--alg A256GCM'), kid('--alg ES256')]
  const subjects: Record<string, string> = {
    'warder encrypt': `${run} crypto encrypt ${file} --key ${key} --force ${home}`,
    'warder decrypt': `${run} crypto decrypt ${file}.warder --output ${file}.out --force ${home}`,
    'warder sign': `${run} crypto sign ${file} --key ${pair} --force ${home}`,
    'warder verify': `${run} crypto verify ${file} --key ${pair} ${home}`,
    // The same hash by the same library, without any service.
    'hashing (node:crypto)': `${process.execPath} -e 'const h=require("crypto").createHash("sha256");const f=require("fs").openSync("${file}");const b=Buffer.alloc(1<<20);for(let n;(n=require("fs").readSync(f,b))>0;)h.update(b.subarray(0,n));h.digest()'`,
    'openssl dgst': `openssl dgst -sha256 ${file}`,
  }
  if (hasAge) {
    const keygen = join(values.age, '..', 'age-keygen')
    const made = spawnSync(existsSync(keygen) ? keygen : 'age-keygen', ['-o', `${file}.age.key`], {
      encoding: 'utf8',
    })
    const recipient = /age1\w+/.exec(made.stderr)?.[0] ?? ''
    subjects['age encrypt'] = `${values.age} -r ${recipient} -o ${file}.age ${file}`
    subjects['age encrypt, on disk'] =
      `${values.age} -r ${recipient} -o ${file}.age ${file} && sync ${file}.age`
    subjects['age decrypt'] = `${values.age} -d -i ${file}.age.key -o ${file}.out ${file}.age`
  } else print(`${values.age} is not here: go install filippo.io/age/cmd/...@latest`)
  const runs = new Map<string, Run[]>()
  for (let round = 0; round < rounds; round += 1)
    for (const [name, command] of Object.entries(subjects)) {
      const ending = made[name]
      // To replace a file takes memory for both or for one, as the program does it: each makes a new one.
      if (ending !== undefined) rmSync(`${file}${ending}`, { force: true })
      runs.set(name, [...(runs.get(name) ?? []), await measureCommand(command)])
    }
  const of = (name: string, what: keyof Run): number => median((runs.get(name) ?? []).map((one) => one[what]))
  print(`${mib} MiB, median of ${rounds} rounds in turn, load average ${loadavg()[0]?.toFixed(1)}`)
  for (const name of runs.keys())
    print(
      `${name.padEnd(24)} ${of(name, 'seconds').toFixed(2)} s  ${(mib / of(name, 'seconds')).toFixed(0).padStart(5)} MiB/s  ${of(name, 'cpuSeconds').toFixed(2)} s of the processor`,
    )
  const pairs = [
    ['warder encrypt', 'age encrypt'],
    ['warder encrypt', 'age encrypt, on disk'],
    ['warder decrypt', 'age decrypt'],
    ['warder sign', 'hashing (node:crypto)'],
    ['warder verify', 'hashing (node:crypto)'],
  ] as const
  for (const [ours, theirs] of pairs)
    if (runs.has(theirs)) {
      // Round by round, so that other load of the machine is the same for both.
      const ratios = (runs.get(theirs) ?? []).map(
        (one, index) => one.seconds / (runs.get(ours)?.[index]?.seconds ?? 0),
      )
      print(`${ours} / ${theirs}: ${median(ratios).toFixed(2)}`)
    }
} finally {
  remove()
  await warder.stop()
}
