// Builds the installable artifacts: npm run package -- [--only WHAT …] [--out FOLDER]
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../bundle/entry-points.ts'
import { artifacts } from './artifacts.ts'
import { writeChecksums } from './checksums.ts'
import { readManifest } from './manifest.ts'
import { sourceDate } from './source-date.ts'
import { stageWarder } from './warder.ts'

async function main(args: readonly string[]): Promise<void> {
  const names = Object.keys(artifacts)
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', multiple: true, default: names },
      out: { type: 'string', default: join(root, 'dist') },
    },
  })
  const unknown = values.only.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`--only takes one of ${names.join(', ')}, not '${unknown}'`)
  const out = resolve(values.out)
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  const staged = join(out, 'staged')
  mkdirSync(staged, { recursive: true })
  let app: string | undefined
  const command = async (): Promise<string> => {
    if (app === undefined) {
      app = join(staged, 'app')
      await stageWarder(app)
    }
    return app
  }
  const { version } = readManifest('packages/warder')
  try {
    for (const name of names.filter((each) => values.only.includes(each))) {
      say(`${name} …`)
      await artifacts[name]?.({ out, staged, version, time: sourceDate(), say, command })
    }
  } finally {
    rmSync(staged, { recursive: true, force: true })
  }
  writeChecksums(out)
  for (const name of readdirSync(out).toSorted()) say(join(out, name))
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`package: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
