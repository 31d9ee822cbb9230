export { buildConsole } from '../build.ts'
export { type Console, type OpenPage, startConsole } from './console.ts'
