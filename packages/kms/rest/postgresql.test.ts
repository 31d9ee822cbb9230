import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { runOnPostgresql } from '@warder/storage/testing'

const packages = join(import.meta.dirname, '..', '..')
const listFiles = (folder: string): readonly string[] =>
  globSync(`${folder}/*.test.ts`, { cwd: packages })
    .filter((file) => basename(file) !== 'postgresql.test.ts')
    // Those run on both engines by themselves.
    .filter((file) => !readFileSync(join(packages, file), 'utf8').includes('bothEngines'))
    .map((file) => file.slice(0, -'.test.ts'.length))
    .sort()

const files = ['keys/access', 'identity', 'kms/rest'].flatMap(listFiles)
const half = Math.ceil(files.length / 2)
for (const some of [files.slice(0, half), files.slice(half)]) await runOnPostgresql(packages, some)
