import { createTerminal, runCommand } from 'warder/testing'
import { clouds } from '../clouds/command.ts'

process.exitCode = await runCommand(clouds, process.argv.slice(2), createTerminal())
