export { giveMemoryBack } from './give-memory-back.ts'
export { giveWay } from './give-way.ts'
