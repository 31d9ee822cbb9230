export { releaseMemoryWhenIdle } from './release-memory.ts'
export { lowerThreadPriority } from './thread-priority.ts'
